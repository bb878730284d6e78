// RUN: mlirad-opt %s --split-input-file --verify-diagnostics | filecheck %s
// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --mlir-print-op-generic | mlirad-opt - --split-input-file | filecheck %s

// CHECK-LABEL: func.func @f
// CHECK: field.dim {{.*}}, 1
func.func @f(%x: !field.array<f32, [16, -1]>, %i: index, %v: f32) {
  %0 = "field.dim"(%x) {axis = 1} : (!field.array<f32, [16, -1]>) -> index
  return
}

// -----

func.func @f(%x: !field.array<f32, [16, -1]>, %i: index, %v: f32) {
  // expected-error @+1 {{axis 2 of an array of rank 2}}
  %0 = "field.dim"(%x) {axis = 2} : (!field.array<f32, [16, -1]>) -> index
  return
}

// -----

func.func @f(%x: !field.array<f32, [16, -1]>, %i: index, %v: f32) {
  // expected-error @+1 {{axis -1 of an array of rank 2}}
  %0 = "field.dim"(%x) {axis = -1} : (!field.array<f32, [16, -1]>) -> index
  return
}

// -----

func.func @f(%x: !field.array<f32, [16, -1]>, %i: index, %v: f32) {
  // expected-error @+1 {{f32 is not an array}}
  %0 = "field.dim"(%v) {axis = 0} : (f32) -> index
  return
}
