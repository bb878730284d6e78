// RUN: mlirad-opt %s --split-input-file --verify-diagnostics | filecheck %s
// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --mlir-print-op-generic | mlirad-opt - --split-input-file | filecheck %s

// CHECK-LABEL: func.func @f
// CHECK: grad.pop {{.*}} : f32
func.func @f(%s: !grad.stack<f32>, %k: index, %v: f32, %d: f64) {
  %0 = "grad.pop"(%s, %k) : (!grad.stack<f32>, index) -> f32
  return
}

// -----

func.func @f(%s: !grad.stack<f32>, %k: index, %v: f32, %d: f64) {
  // expected-error @+1 {{value of type f64 in !grad.stack<f32>}}
  %0 = "grad.pop"(%s, %k) : (!grad.stack<f32>, index) -> f64
  return
}
