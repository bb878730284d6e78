// RUN: mlirad-opt %s --split-input-file --verify-diagnostics | filecheck %s
// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --mlir-print-op-generic | mlirad-opt - --split-input-file | filecheck %s

// CHECK-LABEL: func.func @f
// CHECK: grad.free {{.*}}
func.func @f(%s: !grad.stack<f32>, %k: index, %v: f32, %d: f64) {
  "grad.free"(%s) : (!grad.stack<f32>) -> ()
  return
}

// -----

func.func @f(%s: !grad.stack<f32>, %k: index, %v: f32, %d: f64) {
  // expected-error @+1 {{f32 is not a stack}}
  "grad.free"(%v) : (f32) -> ()
  return
}
