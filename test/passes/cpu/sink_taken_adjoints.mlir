// RUN: mlirad-opt %s --sink-taken-adjoints=fewest=4 --canonicalize --cse | filecheck %s
// RUN: mlirad-opt %s --sink-taken-adjoints=fewest=4 --sink-taken-adjoints=fewest=4 --canonicalize --cse | filecheck %s
// RUN: mlirad-opt %s --sink-taken-adjoints --canonicalize --cse | filecheck %s --check-prefix=FEW

// What an iteration makes of the adjoint that it takes runs where that is not 0: products, guards
// with their tests, what only these use, and what is added to memory. Sums go on with what they had.
// What decides stays in front, and what is made of a product otherwise comes behind.
// CHECK-LABEL: func.func @nearest
// CHECK: %[[R:.*]]:2 = scf.for {{.*}} iter_args(%[[A:.*]] = %arg2, %[[S:.*]] = %{{.*}})
// CHECK: %[[X:.*]] = memref.load %arg0
// CHECK: %[[D:.*]] = arith.cmpf olt
// CHECK: %[[HANDED:.*]] = arith.select %[[D]], %[[A]], %[[ZERO:.*]] : f32
// CHECK: %[[TAKEN:.*]] = arith.select %[[D]], %[[ZERO]], %[[A]] : f32
// CHECK-NOT: arith.mulf
// CHECK: %[[ANY:.*]] = arith.cmpf une, %[[TAKEN]], %[[ZERO]] : f32
// CHECK-NEXT: %[[IF:.*]]:2 = scf.if %[[ANY]] -> (f32, f32) {
// CHECK: %[[E:.*]] = math.exp %[[X]]
// CHECK: %[[P:.*]] = arith.mulf %[[TAKEN]], %[[E]]
// CHECK: arith.cmpf oeq
// CHECK: %[[Q:.*]] = arith.select
// CHECK: memref.store
// CHECK: %[[SUM:.*]] = arith.addf %[[S]], %[[Q]]
// CHECK: scf.yield {{.*}}%[[SUM]]
// CHECK: } else {
// CHECK: scf.yield {{.*}}%[[S]]
// CHECK: }
// CHECK: math.cos
// CHECK: memref.store
// CHECK: scf.yield %[[HANDED]], %[[IF]]#
// FEW-LABEL: func.func @nearest
// FEW-NOT: scf.if
func.func @nearest(%x: memref<6xf32>, %g: memref<6xf32>, %adjoint: f32, %near: f32, %o: memref<6xf32>) -> (f32, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %zero = arith.constant 0.0 : f32
  %r:2 = scf.for %i = %c0 to %c6 step %c1 iter_args(%a = %adjoint, %s = %zero) -> (f32, f32) {
    %v = memref.load %x[%i] : memref<6xf32>
    %e = math.exp %v {field.exact} : f32
    %d = arith.cmpf olt, %near, %v {field.decision} : f32
    %handed = arith.select %d, %a, %zero : f32
    %taken = arith.select %d, %zero, %a : f32
    %p = arith.mulf %taken, %e {field.derivative} : f32
    %t = arith.cmpf oeq, %p, %zero : f32
    %q0 = arith.divf %p, %v {field.derivative} : f32
    %q = arith.select %t, %zero, %q0 : f32
    %cos = math.cos %q {field.derivative} : f32
    memref.store %cos, %o[%i] : memref<6xf32>
    %old = memref.load %g[%i] : memref<6xf32>
    %new = arith.subf %old, %q {field.derivative} : f32
    memref.store %new, %g[%i] : memref<6xf32>
    %next = arith.addf %s, %q {field.derivative} : f32
    scf.yield %handed, %next : f32, f32
  }
  return %r#0, %r#1 : f32, f32
}

// A product of the program's own stays: 0 times infinity is a NaN there. So does what is carried
// as a sum, and an adjoint that goes on beside being taken.
// CHECK-LABEL: func.func @others
// CHECK-NOT: scf.if
func.func @others(%x: memref<6xf32>, %adjoint: f32, %near: f32) -> (f32, f32, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %zero = arith.constant 0.0 : f32
  %r:3 = scf.for %i = %c0 to %c6 step %c1 iter_args(%a = %adjoint, %b = %adjoint, %s = %zero) -> (f32, f32, f32) {
    %v = memref.load %x[%i] : memref<6xf32>
    %d = arith.cmpf olt, %near, %v {field.decision} : f32
    %handed = arith.select %d, %a, %zero : f32
    %taken = arith.select %d, %zero, %a : f32
    %p0 = arith.mulf %taken, %v {field.exact} : f32
    %p1 = arith.mulf %p0, %v {field.exact} : f32
    %p2 = arith.mulf %p1, %v {field.exact} : f32
    %p3 = arith.mulf %p2, %v {field.exact} : f32
    %p4 = arith.addf %s, %p3 {field.derivative} : f32
    %kept = arith.select %d, %zero, %b : f32
    %q0 = arith.mulf %kept, %v {field.derivative} : f32
    %q1 = arith.mulf %q0, %v {field.derivative} : f32
    %q2 = arith.mulf %q1, %v {field.derivative} : f32
    %q3 = arith.mulf %q2, %v {field.derivative} : f32
    %on = arith.addf %b, %q3 {field.derivative} : f32
    scf.yield %handed, %on, %p4 : f32, f32, f32
  }
  return %r#0, %r#1, %r#2 : f32, f32, f32
}

// Accesses of the array that something is added to stay in order.
// CHECK-LABEL: func.func @between
// CHECK: memref.store %{{.*}}, %arg1
// CHECK: scf.if
// CHECK: memref.load %arg1
// CHECK: memref.store %{{.*}}, %arg1
// CHECK: }
// CHECK-NEXT: %[[F:.*]] = memref.load %arg1
// CHECK-NEXT: memref.store %[[F]], %arg0
func.func @between(%x: memref<6xf32>, %g: memref<6xf32>, %adjoint: f32, %near: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %zero = arith.constant 0.0 : f32
  %r = scf.for %i = %c0 to %c6 step %c1 iter_args(%a = %adjoint) -> (f32) {
    %v = memref.load %x[%i] : memref<6xf32>
    %d = arith.cmpf olt, %near, %v {field.decision} : f32
    %handed = arith.select %d, %a, %zero : f32
    %taken = arith.select %d, %zero, %a : f32
    %p = arith.mulf %taken, %v {field.derivative} : f32
    %q = arith.mulf %p, %v {field.derivative} : f32
    %u = arith.mulf %q, %v {field.derivative} : f32
    memref.store %zero, %g[%c0] : memref<6xf32>
    %old = memref.load %g[%i] : memref<6xf32>
    %new = arith.addf %old, %u {field.derivative} : f32
    memref.store %new, %g[%i] : memref<6xf32>
    %f = memref.load %g[%c1] : memref<6xf32>
    memref.store %f, %x[%i] : memref<6xf32>
    scf.yield %handed : f32
  }
  return %r : f32
}
