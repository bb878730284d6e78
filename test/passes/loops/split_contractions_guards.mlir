// RUN: mlirad-opt %s --split-contractions=least=1 --canonicalize --cse | filecheck %s

// A sum that goes on only where conditions hold: bounds of its products. One of them is of a
// multiple of an index, 2 j >= 1.
// CHECK-LABEL: func.func @passed_by(
// CHECK: scf.for %[[I:.*]] = %c0 to %c7 step %c1 {
// CHECK: scf.for %[[I:.*]] = %c0 to %c7 step %c1 {
// CHECK-NEXT: scf.for %[[J:.*]] = %c0 to %c8 step %c1 {
// CHECK-NEXT: scf.for %[[K:.*]] = %c0 to %c9 step %c1 {
// CHECK-NEXT: arith.cmpi sge, %[[J]], %c1
// CHECK-NEXT: scf.if %{{.*}} {
// CHECK: memref.store %{{.*}}, %arg2[%[[I]], %[[J]]]
// CHECK: arith.cmpi slt, %[[J]], %c6
// CHECK-NEXT: scf.if %{{.*}} {
// CHECK: memref.store %{{.*}}, %arg2[%[[I]], %[[J]]]
// CHECK-NOT: scf.for
// CHECK: return
func.func @passed_by(%w: memref<7x9x2xf32> {llvm.noalias}, %x: memref<9x16xf32> {llvm.noalias}, %o: memref<7x8xf32> {llvm.noalias}) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  %c9 = arith.constant 9 : index
  %c11 = arith.constant 11 : index
  scf.for %i = %c0 to %c7 step %c1 {
    scf.for %j = %c0 to %c8 step %c1 {
      %twice = arith.muli %j, %c2 : index
      %low = arith.cmpi sge, %twice, %c1 : index
      %high = arith.cmpi slt, %twice, %c11 : index
      %sum = scf.for %k = %c0 to %c9 step %c1 iter_args(%so_far = %zero) -> (f32) {
        %first = scf.if %low -> (f32) {
          %at = arith.subi %twice, %c1 : index
          %l = memref.load %x[%k, %at] : memref<9x16xf32>
          %u = memref.load %w[%i, %k, %c0] : memref<7x9x2xf32>
          %p = arith.mulf %u, %l {field.derivative} : f32
          %t = arith.addf %so_far, %p {field.derivative} : f32
          scf.yield %t : f32
        } else {
          scf.yield %so_far : f32
        }
        %second = scf.if %high -> (f32) {
          %l = memref.load %x[%k, %twice] : memref<9x16xf32>
          %u = memref.load %w[%i, %k, %c1] : memref<7x9x2xf32>
          %p = arith.mulf %u, %l {field.derivative} : f32
          %t = arith.addf %first, %p {field.derivative} : f32
          scf.yield %t : f32
        } else {
          scf.yield %first : f32
        }
        scf.yield %second : f32
      }
      memref.store %sum, %o[%i, %j] : memref<7x8xf32>
    }
  }
  return
}
