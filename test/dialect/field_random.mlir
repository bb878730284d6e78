// RUN: mlirad-opt %s --split-input-file --verify-diagnostics | filecheck %s
// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --mlir-print-op-generic | mlirad-opt - --split-input-file | filecheck %s

// CHECK-LABEL: func.func @f
// CHECK: field.random {{.*}} : f16
func.func @f(%a: i64, %b: i32) {
  %0 = "field.random"(%a, %a, %a) : (i64, i64, i64) -> f16
  return
}

// -----

func.func @f(%a: i64, %b: i32) {
  // expected-error @+1 {{a random f80, expected one of f16, f32, f64}}
  %0 = "field.random"(%a, %a, %a) : (i64, i64, i64) -> f80
  return
}

// -----

func.func @f(%a: i64, %b: i32) {
  // expected-error @+1 {{expected 'i64' but got 'i32'}}
  %0 = "field.random"(%a, %a, %b) : (i64, i64, i32) -> f32
  return
}
