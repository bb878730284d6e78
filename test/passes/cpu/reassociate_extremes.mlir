// RUN: mlirad-opt %s --reassociate-extremes | filecheck %s
// RUN: mlirad-opt %s --reassociate-extremes --reassociate-extremes | filecheck %s

// In any order; in that of the program if the result is NaN or 0.
// CHECK-LABEL: func.func @greatest(
// CHECK: %[[FOUND:.*]] = scf.for %{{.*}} iter_args(%[[M:.*]] = %arg1) -> (f32) {
// CHECK: %[[X:.*]] = memref.load
// CHECK-NEXT: %[[N:.*]] = arith.maximumf %[[M]], %[[X]] : f32
// CHECK-NEXT: scf.yield %[[N]]
// CHECK: %[[IN_ORDER:.*]] = arith.cmpf ueq, %[[FOUND]], %{{.*}} : f32
// CHECK: scf.if %[[IN_ORDER]] -> (f32) {
// CHECK: scf.for
// CHECK: arith.cmpf ogt
// CHECK: } else {
// CHECK-NEXT: scf.yield %[[FOUND]]
func.func @greatest(%x: memref<64xf32>, %first: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %m = scf.for %j = %c0 to %c64 step %c1 iter_args(%so_far = %first) -> f32 {
    %v = memref.load %x[%j] : memref<64xf32>
    %t = arith.cmpf ogt, %so_far, %v {field.decision} : f32
    %n = arith.select %t, %so_far, %v : f32
    scf.yield %n : f32
  }
  return %m : f32
}

// The place of the first of the least numbers, unless the initial one is as small.
// CHECK-LABEL: func.func @place_of_the_first_least(
// CHECK: %[[FOUND:.*]] = scf.for %{{.*}} iter_args(%[[M:.*]] = %arg1) -> (f64) {
// CHECK: arith.minimumf %[[M]]
// CHECK: scf.if %{{.*}} -> (index, f64) {
// CHECK: } else {
// CHECK: %[[PLACE:.*]] = scf.for %[[J:.*]] = %{{.*}} iter_args(%[[K:.*]] = %[[NONE:.*]]) -> (index) {
// CHECK: %[[IS:.*]] = arith.cmpf oeq, %{{.*}}, %[[FOUND]] : f64
// CHECK-NEXT: %[[HERE:.*]] = arith.select %[[IS]], %[[J]], %{{.*}} : index
// CHECK-NEXT: %[[NEXT:.*]] = arith.minsi %[[K]], %[[HERE]] : index
// CHECK-NEXT: scf.yield %[[NEXT]]
// CHECK: arith.cmpi eq, %[[PLACE]]
// CHECK: arith.cmpf oeq, %arg1, %[[FOUND]]
// CHECK: %[[K:.*]] = arith.select %{{.*}}, %arg2, %[[PLACE]] : index
// CHECK: scf.yield %[[K]], %[[FOUND]]
func.func @place_of_the_first_least(%x: memref<8x64xf64>, %first: f64, %none: index, %i: index) -> (index, f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %k:2 = scf.for %j = %c0 to %c64 step %c1 iter_args(%place = %none, %so_far = %first) -> (index, f64) {
    %v = memref.load %x[%i, %j] : memref<8x64xf64>
    %t = arith.cmpf olt, %v, %so_far : f64
    %n = arith.select %t, %v, %so_far : f64
    %l = arith.select %t, %j, %place : index
    scf.yield %l, %n : index, f64
  }
  return %k#0, %k#1 : index, f64
}

// What lies beside the last of the greatest numbers: its tangent, and its square, which are computed once.
// CHECK-LABEL: func.func @beside(
// CHECK: %[[FOUND:.*]] = scf.for %{{.*}} iter_args(%[[M:.*]] = %arg2) -> (f32) {
// CHECK: %[[X:.*]] = memref.load %arg0
// CHECK-NEXT: arith.maximumf %[[M]], %[[X]]
// CHECK: scf.if %{{.*}} -> (f32, f32, f32) {
// CHECK: } else {
// CHECK: %[[PLACE:.*]] = scf.for
// CHECK-NOT: arg1
// CHECK: arith.maxsi
// CHECK: %[[STAYS:.*]] = arith.cmpi eq, %[[PLACE]]
// CHECK: %[[BESIDE:.*]]:2 = scf.if %[[STAYS]] -> (f32, f32) {
// CHECK-NEXT: scf.yield %arg3, %arg2
// CHECK: } else {
// CHECK: %[[V:.*]] = memref.load %arg0[%[[PLACE]]]
// CHECK: %[[T:.*]] = memref.load %arg1[%[[PLACE]]]
// CHECK: %[[SQUARE:.*]] = arith.mulf %[[V]], %[[V]]
// CHECK: scf.yield %[[T]], %[[SQUARE]]
// CHECK: scf.yield %[[BESIDE]]#0, %[[FOUND]], %[[BESIDE]]#1
func.func @beside(%x: memref<64xf32>, %d: memref<64xf32>, %first: f32, %tangent: f32) -> (f32, f32, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %m:3 = scf.for %j = %c0 to %c64 step %c1 iter_args(%beside = %tangent, %so_far = %first, %other = %first) -> (f32, f32, f32) {
    %v = memref.load %x[%j] : memref<64xf32>
    %u = memref.load %d[%j] : memref<64xf32>
    %square = arith.mulf %v, %v : f32
    %t = arith.cmpf ogt, %so_far, %v {field.decision} : f32
    %n = arith.select %t, %so_far, %v : f32
    %k = arith.select %t, %beside, %u : f32
    %l = arith.select %t, %other, %square : f32
    scf.yield %k, %n, %l : f32, f32, f32
  }
  return %m#0, %m#1, %m#2 : f32, f32, f32
}

// A value that depends on the one before; one that is chosen the other way around.
// CHECK-LABEL: func.func @not_beside(
// CHECK-NOT: maximumf
// CHECK: return
func.func @not_beside(%x: memref<64xf32>, %first: f32) -> (f32, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %m:2 = scf.for %j = %c0 to %c64 step %c1 iter_args(%so_far = %first, %total = %first) -> (f32, f32) {
    %v = memref.load %x[%j] : memref<64xf32>
    %sum = arith.addf %total, %v : f32
    %t = arith.cmpf ogt, %so_far, %v : f32
    %n = arith.select %t, %so_far, %v : f32
    %k = arith.select %t, %total, %sum : f32
    scf.yield %n, %k : f32, f32
  }
  %o:2 = scf.for %j = %c0 to %c64 step %c1 iter_args(%so_far = %first, %other = %first) -> (f32, f32) {
    %v = memref.load %x[%j] : memref<64xf32>
    %t = arith.cmpf ogt, %so_far, %v : f32
    %n = arith.select %t, %so_far, %v : f32
    %k = arith.select %t, %v, %other : f32
    scf.yield %n, %k : f32, f32
  }
  %sum = arith.addf %m#0, %o#0 : f32
  %others = arith.addf %m#1, %o#1 : f32
  return %sum, %others : f32, f32
}

// The greatest so far is used otherwise; a column, whose elements are far apart; a sum that rounds; few trips.
// CHECK-LABEL: func.func @others(
// CHECK-NOT: maximumf
// CHECK: return
func.func @others(%x: memref<64x8xf32>, %y: memref<64xf32>, %first: f32) -> (f32, f32, f32, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %a = scf.for %j = %c0 to %c64 step %c1 iter_args(%so_far = %first) -> f32 {
    %v = memref.load %y[%j] : memref<64xf32>
    memref.store %so_far, %y[%j] : memref<64xf32>
    %t = arith.cmpf ogt, %so_far, %v : f32
    %n = arith.select %t, %so_far, %v : f32
    scf.yield %n : f32
  }
  %b = scf.for %j = %c0 to %c64 step %c1 iter_args(%so_far = %first) -> f32 {
    %v = memref.load %x[%j, %c0] : memref<64x8xf32>
    %t = arith.cmpf ogt, %so_far, %v : f32
    %n = arith.select %t, %so_far, %v : f32
    scf.yield %n : f32
  }
  %c = scf.for %j = %c0 to %c64 step %c1 iter_args(%so_far = %first) -> f32 {
    %v = memref.load %y[%j] : memref<64xf32>
    %w = arith.addf %v, %v : f32
    %t = arith.cmpf ogt, %so_far, %w : f32
    %n = arith.select %t, %so_far, %w : f32
    scf.yield %n : f32
  }
  %c8 = arith.constant 8 : index
  %d = scf.for %j = %c0 to %c8 step %c1 iter_args(%so_far = %first) -> f32 {
    %v = memref.load %y[%j] : memref<64xf32>
    %t = arith.cmpf ogt, %so_far, %v : f32
    %n = arith.select %t, %so_far, %v : f32
    scf.yield %n : f32
  }
  return %a, %b, %c, %d : f32, f32, f32, f32
}
