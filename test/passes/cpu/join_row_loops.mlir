// RUN: mlirad-opt %s --join-row-loops --canonicalize --cse | filecheck %s
// RUN: mlirad-opt %s --join-row-loops --join-row-loops --canonicalize --cse | filecheck %s
// RUN: mlirad-opt %s --join-row-loops 2>&1 | filecheck %s --check-prefix=REMARK

// A softmax: its own arrays become memory of a row, or a number.
// REMARK: remark: 4 loops go through its rows together
// CHECK-LABEL: func.func @softmax
// CHECK-SAME: (%[[X:.*]]: !field.array<f32, [64, 32]>, %[[M:[^:]*]]:
// CHECK: scf.parallel (%[[I:.*]]) =
// CHECK: %[[ROW:.*]] = field.alloca {is_set} : !field.array<f32, [32]>
// CHECK: %[[MOST:.*]] = scf.for
// CHECK: scf.for %[[K:.*]] =
// CHECK: field.load %[[X]][%[[I]], %[[K]]]
// CHECK: arith.subf %{{.*}}, %[[MOST]]
// CHECK: field.store %{{.*}}, %[[ROW]][%[[K]]]
// CHECK: } {field.any_order}
// CHECK: %[[SUM:.*]] = scf.for
// CHECK: scf.for %[[L:.*]] =
// CHECK: field.load %[[ROW]][%[[L]]]
// CHECK: arith.divf %{{.*}}, %[[SUM]]
// CHECK: field.store %{{.*}}, %{{.*}}[%[[I]], %[[L]]]
// CHECK: } {field.any_order}
// CHECK: scf.reduce
// CHECK-NOT: scf.parallel
// CHECK: return
func.func @softmax(%x: !field.array<f32, [64, 32]>, %m: !field.array<f32, [64, 1]> {field.own}, %e: !field.array<f32, [64, 32]> {field.own}, %s: !field.array<f32, [64]> {field.own}, %y: !field.array<f32, [64, 32]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  scf.parallel (%i) = (%c0) to (%c64) step (%c1) {
    %most = scf.for %k = %c0 to %c32 step %c1 iter_args(%so = %least) -> (f32) {
      %a = "field.load"(%x, %i, %k) : (!field.array<f32, [64, 32]>, index, index) -> f32
      %b = arith.maximumf %so, %a : f32
      scf.yield %b : f32
    }
    "field.store"(%most, %m, %i, %c0) : (f32, !field.array<f32, [64, 1]>, index, index) -> ()
  }
  scf.parallel (%i, %k) = (%c0, %c0) to (%c64, %c32) step (%c1, %c1) {
    %a = "field.load"(%x, %i, %k) : (!field.array<f32, [64, 32]>, index, index) -> f32
    %b = "field.load"(%m, %i, %c0) : (!field.array<f32, [64, 1]>, index, index) -> f32
    %d = arith.subf %a, %b : f32
    %f = math.exp %d : f32
    "field.store"(%f, %e, %i, %k) : (f32, !field.array<f32, [64, 32]>, index, index) -> ()
  }
  scf.parallel (%i) = (%c0) to (%c64) step (%c1) {
    %sum = scf.for %k = %c0 to %c32 step %c1 iter_args(%so = %zero) -> (f32) {
      %a = "field.load"(%e, %i, %k) : (!field.array<f32, [64, 32]>, index, index) -> f32
      %b = arith.addf %so, %a : f32
      scf.yield %b : f32
    }
    "field.store"(%sum, %s, %i) : (f32, !field.array<f32, [64]>, index) -> ()
  }
  scf.parallel (%i, %k) = (%c0, %c0) to (%c64, %c32) step (%c1, %c1) {
    %a = "field.load"(%e, %i, %k) : (!field.array<f32, [64, 32]>, index, index) -> f32
    %b = "field.load"(%s, %i) : (!field.array<f32, [64]>, index) -> f32
    %d = arith.divf %a, %b : f32
    "field.store"(%d, %y, %i, %k) : (f32, !field.array<f32, [64, 32]>, index, index) -> ()
  }
  return
}

// What is read of another row, so that all of it has to be there before.
// CHECK-LABEL: func.func @neighbours
// CHECK-COUNT-2: scf.parallel
func.func @neighbours(%x: !field.array<f32, [64, 32]>, %y: !field.array<f32, [65, 32]>, %z: !field.array<f32, [64, 32]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  scf.parallel (%i, %k) = (%c0, %c0) to (%c64, %c32) step (%c1, %c1) {
    %a = "field.load"(%x, %i, %k) : (!field.array<f32, [64, 32]>, index, index) -> f32
    "field.store"(%a, %y, %i, %k) : (f32, !field.array<f32, [65, 32]>, index, index) -> ()
  }
  scf.parallel (%i, %k) = (%c0, %c0) to (%c64, %c32) step (%c1, %c1) {
    %j = arith.addi %i, %c1 : index
    %a = "field.load"(%y, %j, %k) : (!field.array<f32, [65, 32]>, index, index) -> f32
    "field.store"(%a, %z, %i, %k) : (f32, !field.array<f32, [64, 32]>, index, index) -> ()
  }
  return
}

// What is read first and then overwritten, in another order of the axes.
// CHECK-LABEL: func.func @overwritten
// CHECK-COUNT-2: scf.parallel
func.func @overwritten(%x: !field.array<f32, [32, 32]>, %y: !field.array<f32, [32, 32]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  scf.parallel (%i, %k) = (%c0, %c0) to (%c32, %c32) step (%c1, %c1) {
    %a = "field.load"(%x, %k, %i) : (!field.array<f32, [32, 32]>, index, index) -> f32
    "field.store"(%a, %y, %i, %k) : (f32, !field.array<f32, [32, 32]>, index, index) -> ()
  }
  scf.parallel (%i, %k) = (%c0, %c0) to (%c32, %c32) step (%c1, %c1) {
    %a = "field.load"(%y, %i, %k) : (!field.array<f32, [32, 32]>, index, index) -> f32
    "field.store"(%a, %x, %i, %k) : (f32, !field.array<f32, [32, 32]>, index, index) -> ()
  }
  return
}

// A product becomes tiles of many rows.
// CHECK-LABEL: func.func @product
// CHECK-COUNT-2: scf.parallel
func.func @product(%x: !field.array<f32, [64, 32]>, %w: !field.array<f32, [32, 32]>, %y: !field.array<f32, [64, 32]>, %z: !field.array<f32, [64]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i, %j) = (%c0, %c0) to (%c64, %c32) step (%c1, %c1) {
    %sum = scf.for %k = %c0 to %c32 step %c1 iter_args(%so = %zero) -> (f32) {
      %a = "field.load"(%x, %i, %k) : (!field.array<f32, [64, 32]>, index, index) -> f32
      %b = "field.load"(%w, %k, %j) : (!field.array<f32, [32, 32]>, index, index) -> f32
      %c = arith.mulf %a, %b : f32
      %d = arith.addf %so, %c : f32
      scf.yield %d : f32
    }
    "field.store"(%sum, %y, %i, %j) : (f32, !field.array<f32, [64, 32]>, index, index) -> ()
  }
  scf.parallel (%i) = (%c0) to (%c64) step (%c1) {
    %sum = scf.for %k = %c0 to %c32 step %c1 iter_args(%so = %zero) -> (f32) {
      %a = "field.load"(%y, %i, %k) : (!field.array<f32, [64, 32]>, index, index) -> f32
      %d = arith.addf %so, %a : f32
      scf.yield %d : f32
    }
    "field.store"(%sum, %z, %i) : (f32, !field.array<f32, [64]>, index) -> ()
  }
  return
}

// Rows of 400 kB do not stay in a cache; of unknown ones it is not known.
// CHECK-LABEL: func.func @long
// CHECK-COUNT-2: scf.parallel
func.func @long(%x: !field.array<f32, [8, 100000]>, %y: !field.array<f32, [8, 100000]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %n = arith.constant 100000 : index
  scf.parallel (%i, %k) = (%c0, %c0) to (%c8, %n) step (%c1, %c1) {
    %a = "field.load"(%x, %i, %k) : (!field.array<f32, [8, 100000]>, index, index) -> f32
    "field.store"(%a, %y, %i, %k) : (f32, !field.array<f32, [8, 100000]>, index, index) -> ()
  }
  scf.parallel (%i, %k) = (%c0, %c0) to (%c8, %n) step (%c1, %c1) {
    %a = "field.load"(%y, %i, %k) : (!field.array<f32, [8, 100000]>, index, index) -> f32
    %b = math.sin %a : f32
    "field.store"(%b, %y, %i, %k) : (f32, !field.array<f32, [8, 100000]>, index, index) -> ()
  }
  return
}

// Where the greatest number of a row is: that has no vectors along a row.
// CHECK-LABEL: func.func @place
// CHECK-COUNT-2: scf.parallel
func.func @place(%x: !field.array<f32, [64, 32]>, %y: !field.array<f32, [64, 32]>, %z: !field.array<i32, [64]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %least = arith.constant 0xFF800000 : f32
  %none = arith.constant -1 : i32
  scf.parallel (%i, %k) = (%c0, %c0) to (%c64, %c32) step (%c1, %c1) {
    %a = "field.load"(%x, %i, %k) : (!field.array<f32, [64, 32]>, index, index) -> f32
    %b = math.exp %a : f32
    "field.store"(%b, %y, %i, %k) : (f32, !field.array<f32, [64, 32]>, index, index) -> ()
  }
  scf.parallel (%i) = (%c0) to (%c64) step (%c1) {
    %best:2 = scf.for %k = %c0 to %c32 step %c1 iter_args(%so = %least, %at = %none) -> (f32, i32) {
      %a = "field.load"(%y, %i, %k) : (!field.array<f32, [64, 32]>, index, index) -> f32
      %g = arith.cmpf ogt, %a, %so : f32
      %n = arith.index_cast %k : index to i32
      %b = arith.select %g, %a, %so : f32
      %m = arith.select %g, %n, %at : i32
      scf.yield %b, %m : f32, i32
    }
    "field.store"(%best#1, %z, %i) : (i32, !field.array<i32, [64]>, index) -> ()
  }
  return
}
