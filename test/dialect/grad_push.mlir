// RUN: mlirad-opt %s --split-input-file --verify-diagnostics | filecheck %s
// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --mlir-print-op-generic | mlirad-opt - --split-input-file | filecheck %s

// CHECK-LABEL: func.func @f
// CHECK: grad.push {{.*}}
func.func @f(%s: !grad.stack<f32>, %k: index, %v: f32, %d: f64) {
  "grad.push"(%v, %s, %k) : (f32, !grad.stack<f32>, index) -> ()
  return
}

// -----

func.func @f(%s: !grad.stack<f32>, %k: index, %v: f32, %d: f64) {
  // expected-error @+1 {{value of type f64 in !grad.stack<f32>}}
  "grad.push"(%d, %s, %k) : (f64, !grad.stack<f32>, index) -> ()
  return
}
