// RUN: mlirad-opt %s --split-input-file --verify-diagnostics | filecheck %s
// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --mlir-print-op-generic | mlirad-opt - --split-input-file | filecheck %s

// CHECK-LABEL: func.func @f
// CHECK: field.store {{.*}}
func.func @f(%x: !field.array<f32, [16, -1]>, %i: index, %v: f32) {
  "field.store"(%v, %x, %i, %i) : (f32, !field.array<f32, [16, -1]>, index, index) -> ()
  return
}

// -----

func.func @f(%x: !field.array<f32, [16, -1]>, %i: index, %v: f32) {
  // expected-error @+1 {{1 indices for an array of rank 2}}
  "field.store"(%v, %x, %i) : (f32, !field.array<f32, [16, -1]>, index) -> ()
  return
}

// -----

func.func @f(%x: !field.array<f32, [16, -1]>, %i: index, %v: f32) {
  // expected-error @+1 {{value of type index for elements of type f32}}
  "field.store"(%i, %x, %i, %i) : (index, !field.array<f32, [16, -1]>, index, index) -> ()
  return
}

// -----

func.func @f(%x: !field.array<f32, [16, -1]>, %i: index, %v: f32) {
  // expected-error @+1 {{index is not an array}}
  "field.store"(%v, %i) : (f32, index) -> ()
  return
}
