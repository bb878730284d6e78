// RUN: mlirad-opt %s --split-input-file --verify-diagnostics | filecheck %s
// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --mlir-print-op-generic | mlirad-opt - --split-input-file | filecheck %s

// CHECK-LABEL: func.func @f
// CHECK: field.chunk
func.func @f() {
  %0 = "field.chunk"() : () -> index
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{expected base type 'builtin.index' but got 'builtin.integer'}}
  %0 = "field.chunk"() : () -> i32
  return
}
