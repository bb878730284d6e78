// RUN: mlirad-opt %s --split-input-file --verify-diagnostics | filecheck %s
// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --mlir-print-op-generic | mlirad-opt - --split-input-file | filecheck %s

// CHECK-LABEL: func.func @f
// CHECK: field.shuffle {{.*}} : f32
func.func @f(%v: f32, %lane: index) -> f32 {
  %0 = "field.shuffle"(%v, %lane) : (f32, index) -> f32
  return %0 : f32
}

// -----

func.func @f(%v: f32, %lane: index) {
  // expected-error @+1 {{a shuffle of f32 gives f64}}
  %0 = "field.shuffle"(%v, %lane) : (f32, index) -> f64
  return
}

// -----

func.func @f(%v: vector<4xf32>, %lane: index) {
  // expected-error @+1 {{a shuffle of vector<4xf32>, expected a number}}
  %0 = "field.shuffle"(%v, %lane) : (vector<4xf32>, index) -> vector<4xf32>
  return
}
