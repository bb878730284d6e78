// RUN: mlirad-opt %s --mark-scalar-loops | filecheck %s
// RUN: mlirad-opt %s --mark-scalar-loops --mark-scalar-loops | filecheck %s
// RUN: mlirad-opt %s --mark-scalar-loops --convert-scf-to-cf --convert-cf-to-llvm | filecheck %s --check-prefix=LATCH

// CHECK: #[[OFF:.*]] = #llvm.loop_vectorize<disable = true>
// CHECK: #[[SCALAR:.*]] = #llvm.loop_annotation<vectorize = #[[OFF]]>

// Each trip writes to a row: the lanes of vector code would lie 128 bytes apart. The loop around is
// not innermost.
// CHECK-LABEL: func.func @rows
// LATCH-LABEL: func.func @rows
// LATCH: llvm.br ^bb{{.*}} {loop_annotation = #{{.*}}}
// CHECK: scf.for
// CHECK: scf.for
// CHECK: } {loop_annotation = #[[SCALAR]]}
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @rows(%m: memref<64x32xf32, strided<[32, 1]>>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %c6 = arith.constant 6 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  %c9 = arith.constant 9 : index
  %c10 = arith.constant 10 : index
  %c11 = arith.constant 11 : index
  %c12 = arith.constant 12 : index
  %c13 = arith.constant 13 : index
  %c14 = arith.constant 14 : index
  %c15 = arith.constant 15 : index
  %c16 = arith.constant 16 : index
  %c17 = arith.constant 17 : index
  %c18 = arith.constant 18 : index
  %c19 = arith.constant 19 : index
  %c20 = arith.constant 20 : index
  %c21 = arith.constant 21 : index
  %c22 = arith.constant 22 : index
  %c23 = arith.constant 23 : index
  %c24 = arith.constant 24 : index
  scf.for %k = %c0 to %c24 step %c1 {
  scf.for %i = %c0 to %c24 step %c1 {
    memref.store %v, %m[%i, %c0] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%i, %c1] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%i, %c2] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%i, %c3] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%i, %c4] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%i, %c5] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%i, %c6] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%i, %c7] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%i, %c8] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%i, %c9] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%i, %c10] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%i, %c11] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%i, %c12] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%i, %c13] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%i, %c14] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%i, %c15] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%i, %c16] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%i, %c17] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%i, %c18] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%i, %c19] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%i, %c20] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%i, %c21] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%i, %c22] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%i, %c23] : memref<64x32xf32, strided<[32, 1]>>
  }
  }
  return
}

// Each trip writes to a column: lanes are neighbours.
// CHECK-LABEL: func.func @columns
// CHECK-NOT: loop_annotation
func.func @columns(%m: memref<64x32xf32, strided<[32, 1]>>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %c6 = arith.constant 6 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  %c9 = arith.constant 9 : index
  %c10 = arith.constant 10 : index
  %c11 = arith.constant 11 : index
  %c12 = arith.constant 12 : index
  %c13 = arith.constant 13 : index
  %c14 = arith.constant 14 : index
  %c15 = arith.constant 15 : index
  %c16 = arith.constant 16 : index
  %c17 = arith.constant 17 : index
  %c18 = arith.constant 18 : index
  %c19 = arith.constant 19 : index
  %c20 = arith.constant 20 : index
  %c21 = arith.constant 21 : index
  %c22 = arith.constant 22 : index
  %c23 = arith.constant 23 : index
  %c24 = arith.constant 24 : index
  scf.for %i = %c0 to %c24 step %c1 {
    memref.store %v, %m[%c0, %i] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%c1, %i] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%c2, %i] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%c3, %i] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%c4, %i] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%c5, %i] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%c6, %i] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%c7, %i] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%c8, %i] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%c9, %i] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%c10, %i] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%c11, %i] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%c12, %i] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%c13, %i] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%c14, %i] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%c15, %i] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%c16, %i] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%c17, %i] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%c18, %i] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%c19, %i] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%c20, %i] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%c21, %i] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%c22, %i] : memref<64x32xf32, strided<[32, 1]>>
    memref.store %v, %m[%c23, %i] : memref<64x32xf32, strided<[32, 1]>>
  }
  return
}

// Few stores.
// CHECK-LABEL: func.func @one
// CHECK-NOT: loop_annotation
func.func @one(%m: memref<64x32xf32, strided<[32, 1]>>, %v: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    memref.store %v, %m[%i, %c0] : memref<64x32xf32, strided<[32, 1]>>
  }
  return
}
