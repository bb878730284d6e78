// RUN: mlirad-opt %s --split-input-file --verify-diagnostics | filecheck %s
// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --mlir-print-op-generic | mlirad-opt - --split-input-file | filecheck %s
// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --cse --canonicalize --loop-invariant-code-motion --cse | filecheck %s

// No two are one, also where nothing stands between them; what nobody uses stays.
// CHECK-LABEL: func.func @f
// CHECK: field.clock
// CHECK: field.clock
// CHECK: field.clock
func.func @f() -> i64 {
  %0 = "field.clock"() : () -> i64
  %1 = "field.clock"() : () -> i64
  %2 = "field.clock"() : () -> i64
  %3 = arith.subi %1, %0 : i64
  return %3 : i64
}

// -----

// It stays in its loop.
// CHECK-LABEL: func.func @g
// CHECK: scf.for
// CHECK: field.clock
// CHECK: field.store
func.func @g(%a: !field.array<i64, [8]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %0 = "field.clock"() : () -> i64
    "field.store"(%0, %a, %i) : (i64, !field.array<i64, [8]>, index) -> ()
  }
  return
}

// -----

func.func @h() {
  // expected-error @+1 {{expected 'i64' but got 'i32'}}
  %0 = "field.clock"() : () -> i32
  return
}
