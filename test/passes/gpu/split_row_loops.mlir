// RUN: mlirad-opt %s --split-input-file --split-row-loops --canonicalize --cse | filecheck %s
// RUN: mlirad-opt %s --split-input-file --split-row-loops --split-row-loops --canonicalize --cse | filecheck %s

// A block of 32 threads for each row: they share the trips, and combine the sums.
// CHECK-LABEL: func.func @softmax
func.func @softmax(%x: !field.array<f32, [6, 96]>, %y: !field.array<f32, [6, 96]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %c96 = arith.constant 96 : index
  %zero = arith.constant 0.0 : f32
  // CHECK-DAG: %[[SIZE:.*]] = arith.constant 32 : index
  // CHECK-DAG: %[[END:.*]] = arith.constant 96 : index
  // CHECK: scf.parallel (%{{.*}}) = (%{{.*}}) to (%c192)
  scf.parallel (%i) = (%c0) to (%c6) step (%c1) {
    // CHECK: %[[ROW:.*]] = gpu.block_id x
    // CHECK: %[[THREAD:.*]] = gpu.thread_id x
    // CHECK: field.load %arg0[%[[ROW]], %c0]
    %first = field.load %x[%i, %c0] : f32
    // The greatest element, its trip, and whether one is no number.
    // CHECK: %[[MOST:.*]]:3 = scf.for %[[J:.*]] = %[[THREAD]] to %[[END]] step %[[SIZE]]
    // CHECK: field.load %arg0[%[[ROW]], %[[J]]]
    // CHECK: arith.cmpf uno
    // CHECK: gpu.all_reduce maxnumf %[[MOST]]#0
    // CHECK: gpu.all_reduce maxsi
    // CHECK: %[[SHARED:.*]] = field.shared
    // CHECK: scf.if
    // CHECK-NEXT: field.store %[[MOST]]#0, %[[SHARED]]
    // CHECK: gpu.barrier
    // CHECK: gpu.all_reduce or
    // Where one is no number, each thread runs the loop as it was.
    // CHECK: scf.if
    // CHECK-NEXT: scf.for %{{.*}} = %c0 to %[[END]] step %c1
    %most = scf.for %j = %c0 to %c96 step %c1 iter_args(%m = %first) -> (f32) {
      %v = field.load %x[%i, %j] : f32
      %c = arith.cmpf ogt, %m, %v : f32
      %n = arith.select %c, %m, %v : f32
      scf.yield %n : f32
    }
    // CHECK: %[[SUM:.*]] = scf.for %{{.*}} = %[[THREAD]] to %[[END]] step %[[SIZE]] iter_args(%{{.*}} = %cst)
    // CHECK: %[[TOTAL:.*]] = gpu.all_reduce add %[[SUM]]
    %total = scf.for %j = %c0 to %c96 step %c1 iter_args(%s = %zero) -> (f32) {
      %v = field.load %x[%i, %j] : f32
      %d = arith.subf %v, %most {field.loose} : f32
      %e = math.exp %d {field.loose} : f32
      %t = arith.addf %s, %e {field.loose} : f32
      scf.yield %t : f32
    }
    // Arguments may be one array, so threads wait before they write.
    // CHECK: gpu.barrier
    // CHECK: scf.for %[[J:.*]] = %[[THREAD]] to %[[END]] step %[[SIZE]]
    // CHECK: field.store %{{.*}}, %arg1[%[[ROW]], %[[J]]]
    scf.for %j = %c0 to %c96 step %c1 {
      %v = field.load %x[%i, %j] : f32
      %d = arith.subf %v, %most : f32
      %e = math.exp %d : f32
      %w = arith.divf %e, %total : f32
      field.store %w, %y[%i, %j]
    }
    scf.reduce
  }
  // CHECK: field.threads = 32
  return
}

// -----

// The first of equal elements, and its index; the first thread writes what is computed once.
// CHECK-LABEL: func.func @least
func.func @least(%x: !field.array<f32, [6, 96]>, %y: !field.array<f32, [6, 2]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %c96 = arith.constant 96 : index
  %far = arith.constant 1.0e9 : f32
  scf.parallel (%i) = (%c0) to (%c6) step (%c1) {
    // CHECK: %[[FIRST:.*]] = arith.cmpi eq, %thread_id_x
    // CHECK: gpu.all_reduce minnumf
    // CHECK: gpu.all_reduce minsi
    %least:2 = scf.for %j = %c0 to %c96 step %c1 iter_args(%m = %far, %at = %c0) -> (f32, index) {
      %v = field.load %x[%i, %j] : f32
      %c = arith.cmpf olt, %v, %m : f32
      %n = arith.select %c, %v, %m : f32
      %k = arith.select %c, %j, %at : index
      scf.yield %n, %k : f32, index
    }
    %k = arith.index_cast %least#1 : index to i32
    %f = arith.sitofp %k : i32 to f32
    // CHECK: scf.if %[[FIRST]]
    // CHECK-NEXT: field.store
    // CHECK-NEXT: field.store
    // CHECK-NEXT: }
    field.store %least#0, %y[%i, %c0]
    field.store %f, %y[%i, %c1]
    scf.reduce
  }
  return
}

// -----

// Sums over all iterations are left to another launch, which gets the sums of the rows.
// CHECK-LABEL: func.func @losses
func.func @losses(%x: !field.array<f32, [6, 96]>, %loss: !field.array<f32, [1]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %c96 = arith.constant 96 : index
  %zero = arith.constant 0.0 : f32
  // CHECK: %[[PASSED:.*]] = field.get @"$launch.0"
  // CHECK: scf.parallel
  // CHECK: %[[TOTAL:.*]] = gpu.all_reduce add
  // CHECK: scf.if
  // CHECK: field.store %[[TOTAL]], %[[PASSED]][%{{.*}}]
  // CHECK: field.threads = 32
  // CHECK: scf.parallel (%[[I:.*]]) = (%c0) to (%c6)
  // CHECK-NEXT: %[[SUM:.*]] = field.load %[[PASSED]][%[[I]]]
  // CHECK-NEXT: arith.mulf %[[SUM]], %[[SUM]]
  // CHECK-NEXT: field.atomic add
  // CHECK-NEXT: scf.reduce
  scf.parallel (%i) = (%c0) to (%c6) step (%c1) {
    %total = scf.for %j = %c0 to %c96 step %c1 iter_args(%s = %zero) -> (f32) {
      %v = field.load %x[%i, %j] : f32
      %t = arith.addf %s, %v {field.loose} : f32
      scf.yield %t : f32
    }
    %square = arith.mulf %total, %total : f32
    %old = field.atomic add %square, %loss[%c0] {field.loose, field.reduce = 0 : i64}
    scf.reduce
  }
  return
}

// -----

// Loops along columns, whose threads reach neighbors together, stay as they are; so do short ones,
// sums that decisions are made of, and trips that depend on each other.
// CHECK-LABEL: func.func @others
// CHECK-NOT: gpu.
func.func @others(%x: !field.array<f32, [96, 96]>, %y: !field.array<f32, [96]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c96 = arith.constant 96 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i) = (%c0) to (%c96) step (%c1) {
    %total = scf.for %j = %c0 to %c96 step %c1 iter_args(%s = %zero) -> (f32) {
      %v = field.load %x[%j, %i] : f32
      %t = arith.addf %s, %v {field.loose} : f32
      scf.yield %t : f32
    }
    field.store %total, %y[%i]
    scf.reduce
  }
  scf.parallel (%i) = (%c0) to (%c96) step (%c1) {
    %total = scf.for %j = %c0 to %c8 step %c1 iter_args(%s = %zero) -> (f32) {
      %v = field.load %x[%i, %j] : f32
      %t = arith.addf %s, %v {field.loose} : f32
      scf.yield %t : f32
    }
    field.store %total, %y[%i]
    scf.reduce
  }
  scf.parallel (%i) = (%c0) to (%c96) step (%c1) {
    %total = scf.for %j = %c0 to %c96 step %c1 iter_args(%s = %zero) -> (f32) {
      %v = field.load %x[%i, %j] : f32
      %t = arith.addf %s, %v : f32
      scf.yield %t : f32
    }
    field.store %total, %y[%i]
    scf.reduce
  }
  scf.parallel (%i) = (%c0) to (%c96) step (%c1) {
    scf.for %j = %c1 to %c96 step %c1 {
      %before = arith.subi %j, %c1 : index
      %v = field.load %x[%i, %before] : f32
      field.store %v, %x[%i, %j]
    }
    scf.reduce
  }
  scf.parallel (%i) = (%c0) to (%c96) step (%c1) {
    %last = scf.for %j = %c0 to %c96 step %c1 iter_args(%s = %zero) -> (f32) {
      %v = field.load %x[%i, %j] : f32
      %t = arith.mulf %s, %v : f32
      %u = arith.addf %t, %v {field.loose} : f32
      scf.yield %u : f32
    }
    field.store %last, %y[%i]
    scf.reduce
  }
  return
}

// -----

// If the launch knows how many trips there are, it chooses: blocks for long rows, threads for short
// ones.
// CHECK-LABEL: func.func @unknown
func.func @unknown(%x: !field.array<f32, [-1, -1]>, %y: !field.array<f32, [-1]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  // CHECK: %[[ROWS:.*]] = field.dim %arg0, 0
  %rows = field.dim %x, 0
  %columns = field.dim %x, 1
  // CHECK: %[[LONG:.*]] = arith.cmpi sge, %{{.*}}, %c64
  // CHECK: %[[BLOCKS:.*]] = arith.select %[[LONG]]
  // CHECK: scf.parallel
  // CHECK: arith.cmpi slt, %block_id_x, %[[BLOCKS]]
  // CHECK: gpu.all_reduce
  // CHECK: field.threads = 128
  // CHECK: %[[END:.*]] = arith.select %[[LONG]], %c0, %[[ROWS]]
  // CHECK: scf.parallel (%{{.*}}) = (%c0) to (%[[END]])
  // CHECK-NOT: gpu.all_reduce
  // CHECK: return
  scf.parallel (%i) = (%c0) to (%rows) step (%c1) {
    %total = scf.for %j = %c0 to %columns step %c1 iter_args(%s = %zero) -> (f32) {
      %v = field.load %x[%i, %j] : f32
      %t = arith.addf %s, %v {field.loose} : f32
      scf.yield %t : f32
    }
    field.store %total, %y[%i]
    scf.reduce
  }
  return
}
