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

// The tangent of a sum of products whose adjoints of 0 count as 0 beside infinite weights: each part of it is a sum of
// its own, with both guards.
// CHECK-LABEL: func.func @tangents(
// CHECK: %[[ZERO:.*]] = arith.constant 0.0
// CHECK: scf.for %[[J:.*]] = %c0 to %c8 step %c1 {
// CHECK-NEXT: scf.for %[[K:.*]] = %c0 to %c6 step %c1 {
// CHECK-NEXT: scf.for %[[I:.*]] = %c0 to %c7 step %c1 {
// CHECK: %[[D:.*]] = memref.load %arg2[%[[I]], %[[K]]]
// CHECK: %[[W:.*]] = memref.load %arg0[%[[I]], %[[J]]]
// CHECK: %[[PART:.*]] = arith.mulf %[[D]], %[[W]]
// CHECK: %[[TEST:.*]] = arith.cmpf oeq, %[[D]], %[[ZERO]]
// CHECK: %[[QUIET:.*]] = arith.select %[[TEST]], %[[ZERO]], %[[PART]]
// CHECK: %[[G:.*]] = memref.load %arg1[%[[I]], %[[K]]]
// CHECK: %[[PRODUCT:.*]] = arith.mulf %[[G]], %[[W]]
// CHECK: %[[NAN:.*]] = arith.cmpf uno, %[[PRODUCT]], %[[PRODUCT]]
// CHECK: %[[NONE:.*]] = arith.cmpf oeq, %[[G]], %[[ZERO]]
// CHECK: %[[BOTH:.*]] = arith.andi %[[NAN]], %[[NONE]]
// CHECK: %[[PART:.*]] = arith.select %[[BOTH]], %[[ZERO]], %[[QUIET]]
// CHECK: arith.addf %{{.*}}, %[[PART]]
// CHECK: memref.store %{{.*}}, %arg4[%[[J]], %[[K]]]
// CHECK: scf.for %[[J:.*]] = %c0 to %c8 step %c1 {
// CHECK-NEXT: scf.for %[[K:.*]] = %c0 to %c6 step %c1 {
// CHECK-NEXT: scf.for %[[I:.*]] = %c0 to %c7 step %c1 {
// CHECK: memref.load %arg3[%[[I]], %[[J]]]
// CHECK: arith.andi
// CHECK: memref.store %{{.*}}, %arg4[%[[J]], %[[K]]]
func.func @tangents(%w: memref<7x8xf32> {llvm.noalias}, %g: memref<7x6xf32> {llvm.noalias}, %dg: memref<7x6xf32> {llvm.noalias}, %dw: memref<7x8xf32> {llvm.noalias}, %o: memref<8x6xf32> {llvm.noalias}) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c7 step %c1 {
    scf.for %j = %c0 to %c8 step %c1 {
      scf.for %k = %c0 to %c6 step %c1 {
        %a = memref.load %g[%i, %k] : memref<7x6xf32>
        %t = memref.load %dg[%i, %k] : memref<7x6xf32>
        %b = memref.load %w[%i, %j] : memref<7x8xf32>
        %u = memref.load %dw[%i, %j] : memref<7x8xf32>
        %p = arith.mulf %a, %b {field.derivative} : f32
        %t_is_zero = arith.cmpf oeq, %t, %zero : f32
        %first = arith.mulf %t, %b {field.derivative} : f32
        %quiet = arith.select %t_is_zero, %zero, %first : f32
        %second = arith.mulf %u, %a {field.derivative} : f32
        %sum = arith.addf %quiet, %second {field.derivative} : f32
        %is_nan = arith.cmpf uno, %p, %p : f32
        %a_is_zero = arith.cmpf oeq, %a, %zero : f32
        %is_none = arith.andi %is_nan, %a_is_zero : i1
        %tangent = arith.select %is_none, %zero, %sum : f32
        %old = memref.load %o[%j, %k] : memref<8x6xf32>
        %new = arith.addf %old, %tangent {field.derivative} : f32
        memref.store %new, %o[%j, %k] : memref<8x6xf32>
      }
    }
  }
  return
}
