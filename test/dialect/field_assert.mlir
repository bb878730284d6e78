// RUN: mlirad-opt %s --split-input-file --verify-diagnostics | filecheck %s
// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --mlir-print-op-generic | mlirad-opt - --split-input-file | filecheck %s

// CHECK-LABEL: func.func @f
// CHECK: field.assert %{{.*}}, "at {}", %{{.*}} : index
func.func @f(%c: i1, %i: index, %n: none) {
  "field.assert"(%c, %i) {message = "at {}"} : (i1, index) -> ()
  return
}

// -----

func.func @f(%c: i1, %i: index, %n: none) {
  // expected-error @+1 {{value of type none, expected a number}}
  "field.assert"(%c, %n) {message = "at {}"} : (i1, none) -> ()
  return
}

// -----

func.func @f(%c: i1, %i: index, %n: none) {
  // expected-error @+1 {{expected 'i1' but got 'index'}}
  "field.assert"(%i) {message = "at {}"} : (index) -> ()
  return
}
