// RUN: mlirad-opt %s --raise-memrefs-to-arrays --canonicalize | filecheck %s
// RUN: mlirad-opt %s --raise-memrefs-to-arrays --canonicalize | mlirad-opt | filecheck %s
// RUN: mlirad-opt %s --raise-memrefs-to-arrays=gradients=true --canonicalize | filecheck %s --check-prefix=GRAD

// A memref, a float and a result are arrays, an integer is passed as it is.
// CHECK-LABEL: func.func @numbers(
// CHECK-SAME: %arg0: !field.array<f32, [4, -1]> {field.argument = 0 : i64, field.role = ["argument", 0]}
// CHECK-SAME: %arg1: i64 {field.argument = 1 : i64, field.role = ["argument", 1]}
// CHECK-SAME: %arg2: !field.array<f32, []> {field.argument = 2 : i64, field.role = ["argument", 2]}
// CHECK-SAME: %arg3: !field.array<f32, []> {field.argument = 3 : i64, field.role = ["result", 0]}
// CHECK: %[[S:.*]] = field.load %arg2[]
// CHECK: %[[N:.*]] = arith.index_cast %arg1 : i64 to index
// CHECK: %[[V:.*]] = field.load %arg0[%[[N]], %c1]
// CHECK: %[[P:.*]] = arith.mulf %[[V]], %[[S]]
// CHECK: field.store %[[P]], %arg3[]
// GRAD-LABEL: func.func @numbers(
// GRAD-SAME: %arg0: !field.array<f32, [4, -1]> {field.argument = 0 : i64, field.needs_grad
// GRAD-SAME: %arg1: i64 {field.argument = 1 : i64, field.role
func.func @numbers(%a: memref<4x?xf32>, %n: index, %s: f32) -> f32 {
  %c1 = arith.constant 1 : index
  %v = memref.load %a[%n, %c1] : memref<4x?xf32>
  %p = arith.mulf %v, %s : f32
  return %p : f32
}

// Views are index maps: a box, a row-major number, groups of axes, another order.
// CHECK-LABEL: func.func @views(
// CHECK: field.store %{{.*}}, %arg0[%c3, %c4]
// CHECK: field.store %{{.*}}, %arg0[%c2, %c1]
// CHECK: field.store %{{.*}}, %arg0[%c1, %c5]
// CHECK: field.store %{{.*}}, %arg0[%c1, %c5]
// CHECK: field.store %{{.*}}, %arg0[%c2, %c1]
func.func @views(%a: memref<4x8xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c13 = arith.constant 13 : index
  %box = memref.subview %a[1, 2] [2, 3] [2, 2] : memref<4x8xf32> to memref<2x3xf32, strided<[16, 2], offset: 10>>
  memref.store %v, %box[%c1, %c1] : memref<2x3xf32, strided<[16, 2], offset: 10>>
  %line = memref.reinterpret_cast %a to offset: [4], sizes: [28], strides: [1] : memref<4x8xf32> to memref<28xf32, strided<[1], offset: 4>>
  memref.store %v, %line[%c13] : memref<28xf32, strided<[1], offset: 4>>
  %flat = memref.collapse_shape %a [[0, 1]] : memref<4x8xf32> into memref<32xf32>
  memref.store %v, %flat[%c13] : memref<32xf32>
  %deep = memref.expand_shape %a [[0], [1, 2]] output_shape [4, 2, 4] : memref<4x8xf32> into memref<4x2x4xf32>
  memref.store %v, %deep[%c1, %c1, %c1] : memref<4x2x4xf32>
  %turned = memref.transpose %a (i, j) -> (j, i) : memref<4x8xf32> to memref<8x4xf32, strided<[1, 8]>>
  memref.store %v, %turned[%c1, %c2] : memref<8x4xf32, strided<[1, 8]>>
  return
}

// An allocation is a buffer of the launch, or the result that it becomes. Extents that types leave open are affine in those of the arguments.
// CHECK-LABEL: func.func @memory(
// CHECK-SAME: %arg1: !field.array<f64, [-1]> {field.argument = 1 : i64, field.extents = [affine_map<()[s0] -> (s0 + 2)>, {{\[}}[0, 0]]], field.role = ["buffer"]}
// CHECK-SAME: %arg2: !field.array<f64, [8]> {field.argument = 2 : i64, field.role = ["result", 0]}
// CHECK-SAME: %arg3: !field.array<f64, [3]> {field.argument = 3 : i64, field.role = ["constant", @weights]}
// CHECK: scf.parallel
memref.global "private" constant @weights : memref<3xf64> = dense<[1.0, 2.0, 3.0]>
func.func @memory(%a: memref<?xf64>) -> memref<8xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %n = memref.dim %a, %c0 : memref<?xf64>
  %more = arith.addi %n, %c2 : index
  %b = memref.alloc(%more) : memref<?xf64>
  %r = memref.alloc() : memref<8xf64>
  %w = memref.get_global @weights : memref<3xf64>
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    %u = memref.load %w[%c2] : memref<3xf64>
    memref.store %u, %b[%i] : memref<?xf64>
    memref.store %u, %r[%i] : memref<8xf64>
    scf.reduce
  }
  memref.dealloc %b : memref<?xf64>
  return %r : memref<8xf64>
}

// An argument that is marked has a gradient, and then results and buffers have.
// CHECK-LABEL: func.func @marked(
// CHECK-SAME: %arg0: !field.array<f64, [4]> {field.argument = 0 : i64, field.needs_grad
// CHECK-SAME: %arg1: !field.array<f64, []> {field.argument = 1 : i64, field.role
// CHECK-SAME: %arg2: !field.array<f64, [2]> {field.argument = 2 : i64, field.needs_grad, field.role = ["buffer"]}
// CHECK-SAME: %arg3: !field.array<f64, []> {field.argument = 3 : i64, field.needs_grad, field.role = ["result", 0]}
func.func @marked(%x: memref<4xf64> {field.needs_grad}, %k: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %m = memref.alloc() : memref<2xf64>
  %v = memref.load %x[%c0] : memref<4xf64>
  memref.store %v, %m[%c0] : memref<2xf64>
  %u = memref.load %m[%c0] : memref<2xf64>
  %w = arith.mulf %u, %k : f64
  return %w : f64
}

// A product of sizes is text that can be read again: the operands of the map are symbols.
// CHECK-LABEL: func.func @not_negative(
// CHECK-SAME: field.extents = [affine_map<()[s0] -> ((s0 - 2) * ((s0 - 2) floordiv 4611686018427387904 + 1))>, {{\[}}[0, 0]]], field.role = ["buffer"]}
func.func @not_negative(%a: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %v = arith.constant 1.0 : f64
  %n = memref.dim %a, %c0 : memref<?xf64>
  %fewer = arith.subi %n, %c2 : index
  %size = arith.maxsi %fewer, %c0 : index
  %b = memref.alloc(%size) : memref<?xf64>
  memref.store %v, %b[%c0] : memref<?xf64>
  memref.dealloc %b : memref<?xf64>
  return
}
