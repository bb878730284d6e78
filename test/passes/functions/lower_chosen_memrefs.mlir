// RUN: mlirad-opt %s --lower-chosen-memrefs --canonicalize | filecheck %s
// RUN: mlirad-run %s --entry=swap random random --check | filecheck %s --check-prefix=DERIVATIVES
// RUN: mlirad-run %s --entry=row random random 1 --check | filecheck %s --check-prefix=DERIVATIVES
// DERIVATIVES: all {{.*}} derivatives agree

// Buffers that change places: the loop carries which one it is.
// CHECK-LABEL: func.func @swap
// CHECK: scf.for {{.*}} iter_args(%[[X:.*]] = %c0, %[[Y:.*]] = %c1) -> (index, index)
// CHECK: arith.cmpi eq, %[[X]], %c0
// CHECK: scf.if
// CHECK: memref.load %arg0
// CHECK: } else {
// CHECK: memref.load %arg1
// CHECK: scf.yield %[[Y]], %[[X]] : index, index
func.func @swap(%a: memref<4xf64>, %b: memref<4xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r:2 = scf.for %i = %c0 to %c3 step %c1
      iter_args(%x = %a, %y = %b) -> (memref<4xf64>, memref<4xf64>) {
    %v = memref.load %x[%i] : memref<4xf64>
    %s = math.sin %v : f64
    memref.store %s, %y[%i] : memref<4xf64>
    scf.yield %y, %x : memref<4xf64>, memref<4xf64>
  }
  return
}

// A view of one of two is one of each.
// CHECK-LABEL: func.func @row
// CHECK-DAG: memref.subview %arg0
// CHECK-DAG: memref.subview %arg1
// CHECK: scf.if
func.func @row(%a: memref<3x4xf64>, %b: memref<3x4xf64>, %k: index) -> f64 {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c = arith.cmpi eq, %k, %c1 : index
  %m = arith.select %c, %a, %b : memref<3x4xf64>
  %row = memref.subview %m[%k, 0] [1, 4] [1, 1]
    : memref<3x4xf64> to memref<4xf64, strided<[1], offset: ?>>
  %v = memref.load %row[%c2] : memref<4xf64, strided<[1], offset: ?>>
  %s = math.exp %v : f64
  memref.store %s, %row[%c1] : memref<4xf64, strided<[1], offset: ?>>
  return %s : f64
}
