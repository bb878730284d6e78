// RUN: mlirad-opt %s --mark-private-updates=every-axis=true | filecheck %s
// RUN: mlirad-opt %s --mark-private-updates=every-axis=true --mark-private-updates=every-axis=true | filecheck %s

// With a thread an iteration, an index has to tell all axes apart.
// CHECK-LABEL: func.func @rows
// CHECK: field.atomic add {{.*}}, %{{[0-9a-z]+}}[%{{[0-9a-z]+}}]
// CHECK-NEXT: field.atomic add {{.*}}, %{{[0-9a-z]+}}[%{{[0-9a-z]+}}, %{{[0-9a-z]+}}] {field.plain}
func.func @rows(%x: !field.array<f32, [16, 16]>, %s: !field.array<f32, [16]>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.parallel (%i, %j) = (%c0, %c0) to (%c16, %c16) step (%c1, %c1) {
    %o = "field.atomic"(%v, %s, %i) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    %p = "field.atomic"(%v, %x, %j, %i) {kind = "add"} : (f32, !field.array<f32, [16, 16]>, index, index) -> f32
  }
  return
}

// Nothing is serial because there is one thread: the device has others.
// CHECK-LABEL: func.func @cell
// CHECK: field.atomic add {{.*}} {field.reduce = 0 : i64}
func.func @cell(%s: !field.array<f32, []>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    %o = "field.atomic"(%v, %s) {kind = "add"} : (f32, !field.array<f32, []>) -> f32
  }
  return
}
