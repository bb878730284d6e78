// RUN: mlirad-opt %s --split-input-file --verify-diagnostics | filecheck %s
// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --mlir-print-op-generic | mlirad-opt - --split-input-file | filecheck %s

// CHECK-LABEL: func.func @f
// CHECK: field.ballot
func.func @f(%p: i1) -> i32 {
  %0 = "field.ballot"(%p) : (i1) -> i32
  return %0 : i32
}

// -----

func.func @f(%p: i32) {
  // expected-error @+1 {{expected 'i1' but got 'i32'}}
  %0 = "field.ballot"(%p) : (i32) -> i32
  return
}
