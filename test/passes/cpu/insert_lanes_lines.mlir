// RUN: mlirad-opt %s --insert-lanes="width=8 always=true" --canonicalize --cse 2>&1 | filecheck %s
// RUN: mlirad-opt %s --insert-lanes="width=8 always=true" --insert-lanes="width=8 always=true" --canonicalize --cse 2>&1 | filecheck %s

// The interior of a row begins at its second element: seven iterations come before vectors that are
// parts of lines, and seven behind them. Rows are whole numbers of vectors.
// CHECK-LABEL: func.func @interior
// CHECK: %[[SEVEN:.*]] = arith.constant dense<[true, true, true, true, true, true, true, false]> : vector<8xi1>
// CHECK: %[[FIRST:.*]] = arith.addi %[[ROW:.*]], %c1 : index
// CHECK: vector.maskedstore %{{.*}}[%[[FIRST]]], %[[SEVEN]], %{{.*}} : memref<288xf32>
// CHECK: scf.for %{{.*}} = %c8 to %c64 step %c8
// CHECK: vector.store
// CHECK: %[[LAST:.*]] = arith.addi %[[ROW]], %c64 : index
// CHECK: vector.maskedstore %{{.*}}[%[[LAST]]], %[[SEVEN]], %{{.*}} : memref<288xf32>
func.func @interior(%x: memref<4x72xf32>, %y: memref<4x72xf32>, %row: index) {
  %c1 = arith.constant 1 : index
  %c71 = arith.constant 71 : index
  scf.for %j = %c1 to %c71 step %c1 {
    %v = memref.load %x[%row, %j] : memref<4x72xf32>
    %w = arith.mulf %v, %v : f32
    memref.store %w, %y[%row, %j] : memref<4x72xf32>
  } {field.any_order}
  return
}

// Rows of 70 elements begin anywhere in a line, and a short loop has one vector less.
// CHECK-LABEL: func.func @rows_anywhere
// CHECK: scf.for %{{.*}} = %c1 to
// CHECK-LABEL: func.func @short
// CHECK: scf.for %{{.*}} = %c1 to
func.func @rows_anywhere(%x: memref<4x70xf32>, %y: memref<4x70xf32>, %row: index) {
  %c1 = arith.constant 1 : index
  %c69 = arith.constant 69 : index
  scf.for %j = %c1 to %c69 step %c1 {
    %v = memref.load %x[%row, %j] : memref<4x70xf32>
    %w = arith.mulf %v, %v : f32
    memref.store %w, %y[%row, %j] : memref<4x70xf32>
  } {field.any_order}
  return
}

func.func @short(%x: memref<4x40xf32>, %y: memref<4x40xf32>, %row: index) {
  %c1 = arith.constant 1 : index
  %c39 = arith.constant 39 : index
  scf.for %j = %c1 to %c39 step %c1 {
    %v = memref.load %x[%row, %j] : memref<4x40xf32>
    %w = arith.mulf %v, %v : f32
    memref.store %w, %y[%row, %j] : memref<4x40xf32>
  } {field.any_order}
  return
}
