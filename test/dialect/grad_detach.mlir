// RUN: mlirad-opt %s --split-input-file --verify-diagnostics | filecheck %s
// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --mlir-print-op-generic | mlirad-opt - --split-input-file | filecheck %s

// CHECK-LABEL: func.func @f
// CHECK: grad.detach %{{.*}} : f32
func.func @f(%x: f32) -> f32 {
  %c = "grad.detach"(%x) : (f32) -> f32
  return %c : f32
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{a value of type f64 for one of type f32}}
  %c = "grad.detach"(%x) : (f32) -> f64
  return
}

// -----

func.func @f(%x: i32) {
  // expected-error @+1 {{expected the same float type}}
  %c = "grad.detach"(%x) : (i32) -> i32
  return
}
