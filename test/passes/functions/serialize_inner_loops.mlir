// RUN: mlirad-opt %s --serialize-inner-loops | filecheck %s
// RUN: mlirad-opt %s --serialize-inner-loops=outer=true | filecheck %s --check-prefix=OUTER

// A parallel loop in another becomes a nest of serial ones.
// CHECK-LABEL: func.func @inner
// CHECK: scf.parallel (%[[I:.*]]) =
// CHECK: scf.for %[[J:.*]] = %c0 to %c8 step %c2 {
// CHECK: scf.for %[[K:.*]] = %c1 to %c4 step %c1 {
// CHECK: memref.store %{{.*}}, %arg0[%[[I]], %[[J]], %[[K]]]
func.func @inner(%a: memref<4x8x4xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  scf.parallel (%i) = (%c0) to (%c4) step (%c1) {
    scf.parallel (%j, %k) = (%c0, %c1) to (%c8, %c4) step (%c2, %c1) {
      memref.store %v, %a[%i, %j, %k] : memref<4x8x4xf32>
      scf.reduce
    }
    scf.reduce
  }
  return
}

// What a loop reduces, a nest carries; a loop that stays has no results.
// CHECK-LABEL: func.func @sum
// CHECK: %[[S:.*]]:2 = scf.for %[[I:.*]] = %c0 to %c4 step %c1 iter_args(%[[A:.*]] = %{{.*}}, %[[M:.*]] = %{{.*}}) -> (f32, f32)
// CHECK: %[[X:.*]] = memref.load %arg0[%[[I]]]
// CHECK: %[[B:.*]] = arith.addf %[[A]], %[[X]]
// CHECK: %[[N:.*]] = arith.maximumf %[[M]], %[[X]]
// CHECK: scf.yield %[[B]], %[[N]]
// CHECK: return %[[S]]#0, %[[S]]#1
func.func @sum(%a: memref<4xf32>) -> (f32, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %s:2 = scf.parallel (%i) = (%c0) to (%c4) step (%c1) init (%zero, %zero) -> (f32, f32) {
    %x = memref.load %a[%i] : memref<4xf32>
    scf.reduce(%x, %x : f32, f32) {
    ^bb0(%left: f32, %right: f32):
      %t = arith.addf %left, %right : f32
      scf.reduce.return %t : f32
    }, {
    ^bb0(%left: f32, %right: f32):
      %t = arith.maximumf %left, %right : f32
      scf.reduce.return %t : f32
    }
  }
  return %s#0, %s#1 : f32, f32
}

// With `outer`, no loop is parallel.
// OUTER-LABEL: func.func @outer
// OUTER-NOT: scf.parallel
// OUTER: scf.for
func.func @outer(%a: memref<8xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f64
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    memref.store %zero, %a[%i] : memref<8xf64>
    scf.reduce
  }
  return
}
