// RUN: mlirad-opt %s --split-input-file --verify-diagnostics | filecheck %s
// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --mlir-print-op-generic | mlirad-opt - --split-input-file | filecheck %s

// CHECK-LABEL: func.func @f
// CHECK: field.load {{.*}} : f32
func.func @f(%x: !field.array<f32, [16, -1]>, %i: index, %v: f32) {
  %0 = "field.load"(%x, %i, %i) : (!field.array<f32, [16, -1]>, index, index) -> f32
  return
}

// -----

func.func @f(%x: !field.array<f32, [16, -1]>, %i: index, %v: f32) {
  // expected-error @+1 {{1 indices for an array of rank 2}}
  %0 = "field.load"(%x, %i) : (!field.array<f32, [16, -1]>, index) -> f32
  return
}

// -----

func.func @f(%x: !field.array<f32, [16, -1]>, %i: index, %v: f32) {
  // expected-error @+1 {{value of type f64 for elements of type f32}}
  %0 = "field.load"(%x, %i, %i) : (!field.array<f32, [16, -1]>, index, index) -> f64
  return
}

// -----

func.func @f(%x: !field.array<f32, [16, -1]>, %i: index, %v: f32) {
  // expected-error @+1 {{f32 is not an array}}
  %0 = "field.load"(%v) : (f32) -> f32
  return
}

// -----

func.func @f(%x: !field.array<f32, [4.0]>, %i: index) {
  // expected-error @+1 {{!field.array<f32, [4.000000e+00]> is not an array}}
  %0 = "field.load"(%x, %i) : (!field.array<f32, [4.0]>, index) -> f32
  return
}

// -----

func.func @f(%x: !field.array<f32, [16, -1]>, %i: index, %v: f32) {
  // expected-error @+1 {{op expects at least 1 operands, but got 0}}
  %0 = "field.load"() : () -> f32
  return
}
