// RUN: mlirad-opt %s --insert-lanes="width=8" --canonicalize --cse 2>&1 | filecheck %s
// RUN: mlirad-opt %s --insert-lanes="width=8" --insert-lanes="width=8" --canonicalize --cse 2>&1 | filecheck %s

// In a large body, each line that lanes access two vectors of iterations later is prefetched once:
// 7 lines of 104 elements, and 1 of 8.
// CHECK-LABEL: func.func @large
// CHECK: %[[LATER:.*]] = arith.addi %{{.*}}, %c208 : index
// CHECK: memref.prefetch %{{.*}}[%[[LATER]]], read, locality<3>, data : memref<832xf32>
// CHECK-COUNT-6: memref.prefetch %{{.*}}, read, locality<3>, data : memref<832xf32>
// CHECK-NOT: read
// CHECK: memref.prefetch %{{.*}}, write, locality<3>, data : memref<64xf32>
// CHECK-NOT: memref.prefetch
// CHECK: return
func.func @large(%x: memref<64x13xf32>, %y: memref<64xf32>) {
  %k64 = arith.constant 64 : index
  %k0 = arith.constant 0 : index
  %k1 = arith.constant 1 : index
  %k2 = arith.constant 2 : index
  %k3 = arith.constant 3 : index
  %k4 = arith.constant 4 : index
  %k5 = arith.constant 5 : index
  %k6 = arith.constant 6 : index
  %k7 = arith.constant 7 : index
  %k8 = arith.constant 8 : index
  %k9 = arith.constant 9 : index
  %k10 = arith.constant 10 : index
  %k11 = arith.constant 11 : index
  %k12 = arith.constant 12 : index
  scf.for %i = %k0 to %k64 step %k1 {
    %v0 = memref.load %x[%i, %k0] : memref<64x13xf32>
    %v1 = memref.load %x[%i, %k1] : memref<64x13xf32>
    %v2 = memref.load %x[%i, %k2] : memref<64x13xf32>
    %v3 = memref.load %x[%i, %k3] : memref<64x13xf32>
    %v4 = memref.load %x[%i, %k4] : memref<64x13xf32>
    %v5 = memref.load %x[%i, %k5] : memref<64x13xf32>
    %v6 = memref.load %x[%i, %k6] : memref<64x13xf32>
    %v7 = memref.load %x[%i, %k7] : memref<64x13xf32>
    %v8 = memref.load %x[%i, %k8] : memref<64x13xf32>
    %v9 = memref.load %x[%i, %k9] : memref<64x13xf32>
    %v10 = memref.load %x[%i, %k10] : memref<64x13xf32>
    %v11 = memref.load %x[%i, %k11] : memref<64x13xf32>
    %v12 = memref.load %x[%i, %k12] : memref<64x13xf32>
    %s1 = arith.mulf %v0, %v1 : f32
    %s2 = arith.mulf %s1, %v2 : f32
    %s3 = arith.mulf %s2, %v3 : f32
    %s4 = arith.mulf %s3, %v4 : f32
    %s5 = arith.mulf %s4, %v5 : f32
    %s6 = arith.mulf %s5, %v6 : f32
    %s7 = arith.mulf %s6, %v7 : f32
    %s8 = arith.mulf %s7, %v8 : f32
    %s9 = arith.mulf %s8, %v9 : f32
    %s10 = arith.mulf %s9, %v10 : f32
    %s11 = arith.mulf %s10, %v11 : f32
    %s12 = arith.mulf %s11, %v12 : f32
    memref.store %s12, %y[%i] : memref<64xf32>
  } {field.any_order}
  return
}

// Numbers of cells, as sparse trees keep them, are as wide as addresses: 8 are a line.
// CHECK-LABEL: func.func @indices
// CHECK-COUNT-7: memref.prefetch %{{.*}}, read, locality<3>, data : memref<832xi32>
// CHECK: memref.prefetch %{{.*}}, write, locality<3>, data : memref<64xindex>
// CHECK-NOT: memref.prefetch
// CHECK: return
func.func @indices(%x: memref<64x13xi32>, %y: memref<64xindex>) {
  %k64 = arith.constant 64 : index
  %k0 = arith.constant 0 : index
  %k1 = arith.constant 1 : index
  %k2 = arith.constant 2 : index
  %k3 = arith.constant 3 : index
  %k4 = arith.constant 4 : index
  %k5 = arith.constant 5 : index
  %k6 = arith.constant 6 : index
  %k7 = arith.constant 7 : index
  %k8 = arith.constant 8 : index
  %k9 = arith.constant 9 : index
  %k10 = arith.constant 10 : index
  %k11 = arith.constant 11 : index
  %k12 = arith.constant 12 : index
  scf.for %i = %k0 to %k64 step %k1 {
    %v0 = memref.load %x[%i, %k0] : memref<64x13xi32>
    %v1 = memref.load %x[%i, %k1] : memref<64x13xi32>
    %v2 = memref.load %x[%i, %k2] : memref<64x13xi32>
    %v3 = memref.load %x[%i, %k3] : memref<64x13xi32>
    %v4 = memref.load %x[%i, %k4] : memref<64x13xi32>
    %v5 = memref.load %x[%i, %k5] : memref<64x13xi32>
    %v6 = memref.load %x[%i, %k6] : memref<64x13xi32>
    %v7 = memref.load %x[%i, %k7] : memref<64x13xi32>
    %v8 = memref.load %x[%i, %k8] : memref<64x13xi32>
    %v9 = memref.load %x[%i, %k9] : memref<64x13xi32>
    %v10 = memref.load %x[%i, %k10] : memref<64x13xi32>
    %v11 = memref.load %x[%i, %k11] : memref<64x13xi32>
    %v12 = memref.load %x[%i, %k12] : memref<64x13xi32>
    %s1 = arith.muli %v0, %v1 : i32
    %s2 = arith.muli %s1, %v2 : i32
    %s3 = arith.muli %s2, %v3 : i32
    %s4 = arith.muli %s3, %v4 : i32
    %s5 = arith.muli %s4, %v5 : i32
    %s6 = arith.muli %s5, %v6 : i32
    %s7 = arith.muli %s6, %v7 : i32
    %s8 = arith.muli %s7, %v8 : i32
    %s9 = arith.muli %s8, %v9 : i32
    %s10 = arith.muli %s9, %v10 : i32
    %s11 = arith.muli %s10, %v11 : i32
    %s12 = arith.muli %s11, %v12 : i32
    %n = arith.index_cast %s12 : i32 to index
    memref.store %n, %y[%i] : memref<64xindex>
  } {field.any_order}
  return
}

// A small body that reads four rows of large arrays fetches the lines that the next iteration of the
// loop over rows will read, behind all of its loads: a row of %a is 512 elements, of %b 1024. Of the
// three rows of %a, two will be those that it reads now, so only the row behind them is fetched.
// CHECK-LABEL: func.func @rows
// CHECK: %[[A:.*]] = memref.reinterpret_cast %{{.*}} : memref<512x512xf32> to memref<262144xf32>
// CHECK: %[[B:.*]] = memref.reinterpret_cast %{{.*}} : memref<512x1024xf32> to memref<524288xf32>
// CHECK: scf.for
// CHECK-NOT: memref.prefetch
// CHECK: scf.for
// CHECK: vector.load %[[A]]
// CHECK: vector.load %[[A]]
// CHECK: vector.load %[[A]]
// CHECK: vector.load %[[A]][%[[LAST:.*]]]
// CHECK: vector.load %[[B]]
// CHECK: %[[NEXT:.*]] = arith.addi %[[LAST]], %c512
// CHECK: memref.prefetch %[[A]][%[[NEXT]]], read, locality<3>, data : memref<262144xf32>
// CHECK: memref.prefetch %[[B]][%{{.*}}], read, locality<3>, data : memref<524288xf32>
// CHECK-NOT: memref.prefetch
// CHECK: return
func.func @rows(%a: memref<512x512xf32>, %b: memref<512x1024xf32>, %y: memref<512x512xf32>) {
  %k0 = arith.constant 0 : index
  %k1 = arith.constant 1 : index
  %k511 = arith.constant 511 : index
  scf.for %i = %k1 to %k511 step %k1 {
    %before = arith.subi %i, %k1 : index
    %behind = arith.addi %i, %k1 : index
    scf.for %j = %k0 to %k511 step %k1 {
      %right = arith.addi %j, %k1 : index
      %v0 = memref.load %a[%before, %j] : memref<512x512xf32>
      %v1 = memref.load %a[%i, %j] : memref<512x512xf32>
      %v2 = memref.load %a[%i, %right] : memref<512x512xf32>
      %v3 = memref.load %a[%behind, %j] : memref<512x512xf32>
      %v4 = memref.load %b[%i, %j] : memref<512x1024xf32>
      %s1 = arith.addf %v0, %v1 : f32
      %s2 = arith.addf %s1, %v2 : f32
      %s3 = arith.addf %s2, %v3 : f32
      %s4 = arith.mulf %s3, %v4 : f32
      memref.store %s4, %y[%i, %j] : memref<512x512xf32>
    } {field.any_order}
  }
  return
}

// Three rows are streams that a processor foresees, and so is what lies in small arrays.
// CHECK-LABEL: func.func @few_rows
// CHECK-NOT: memref.prefetch
// CHECK: return
func.func @few_rows(%a: memref<512x512xf32>, %b: memref<64x512xf32>, %y: memref<512x512xf32>) {
  %k0 = arith.constant 0 : index
  %k1 = arith.constant 1 : index
  %k63 = arith.constant 63 : index
  %k511 = arith.constant 511 : index
  scf.for %i = %k1 to %k63 step %k1 {
    %before = arith.subi %i, %k1 : index
    %behind = arith.addi %i, %k1 : index
    scf.for %j = %k0 to %k511 step %k1 {
      %v0 = memref.load %a[%before, %j] : memref<512x512xf32>
      %v1 = memref.load %a[%i, %j] : memref<512x512xf32>
      %v2 = memref.load %a[%behind, %j] : memref<512x512xf32>
      %v3 = memref.load %b[%i, %j] : memref<64x512xf32>
      %s1 = arith.addf %v0, %v1 : f32
      %s2 = arith.addf %s1, %v2 : f32
      %s3 = arith.mulf %s2, %v3 : f32
      memref.store %s3, %y[%i, %j] : memref<512x512xf32>
    } {field.any_order}
  }
  return
}
