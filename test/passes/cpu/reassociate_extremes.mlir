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
