// RUN: mlirad-opt %s --insert-bounds-checks | filecheck %s
// RUN: mlirad-opt %s --insert-bounds-checks --mlir-print-op-generic | mlirad-opt - | filecheck %s

// CHECK-LABEL: func.func @known_extent
// CHECK: %[[N:.*]] = arith.constant 16 : index
// CHECK: %[[LOW:.*]] = arith.cmpi sge, %arg1,
// CHECK: %[[HIGH:.*]] = arith.cmpi slt, %arg1, %[[N]]
// CHECK: %[[INSIDE:.*]] = arith.andi %[[LOW]], %[[HIGH]]
// CHECK-NEXT: field.assert %[[INSIDE]],
// CHECK-SAME: (kernel=known_extent) Out of bound access: ndarray of size ({}) with indices ({})", %[[N]], %arg1 : index, index
// CHECK: %[[SAFE:.*]] = arith.select %[[INSIDE]], %arg1,
// CHECK: field.load %arg0[%[[SAFE]]]
func.func @known_extent(%x: !field.array<f32, [16]>, %i: index) -> f32 {
  %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
  return %v : f32
}

// CHECK-LABEL: func.func @extent_of_the_launch
// CHECK: %[[N:.*]] = field.dim %arg0, 0
// CHECK: arith.cmpi slt, %arg1, %[[N]]
// CHECK: scf.if
// CHECK-NEXT: field.store %arg2, %arg0[%arg1]
func.func @extent_of_the_launch(%x: !field.array<f32, [-1]>, %i: index, %v: f32) {
  "field.store"(%v, %x, %i) : (f32, !field.array<f32, [-1]>, index) -> ()
  return
}

// CHECK-LABEL: func.func @value_of_an_update
// CHECK: %[[OLD:.*]] = scf.if
// CHECK-NEXT: %[[IN:.*]] = field.atomic add %arg2, %arg0[%arg1]
// CHECK-NEXT: scf.yield %[[IN]]
// CHECK: return %[[OLD]]
func.func @value_of_an_update(%x: !field.array<f32, [16]>, %i: index, %v: f32) -> f32 {
  %old = "field.atomic"(%v, %x, %i) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
  return %old : f32
}

// CHECK-LABEL: func.func @one_cell
// CHECK-NOT: field.assert
func.func @one_cell(%x: !field.array<f32, []>, %v: f32) {
  "field.store"(%v, %x) : (f32, !field.array<f32, []>) -> ()
  return
}
