// RUN: mlirad-opt %s --sink-zero-guards=always=true --canonicalize --cse | filecheck %s
// RUN: mlirad-opt %s --sink-zero-guards --canonicalize --cse | filecheck %s --check-prefix=LLVM
// RUN: mlirad-opt %s --sink-zero-guards=always=true --sink-zero-guards=always=true --canonicalize --cse | filecheck %s

// Without guards first, then, where the last product is a NaN, by a function that has them; what is
// loaded is loaded again there. The update waits for that.
// CHECK-LABEL: func.func private @chain.guarded0
// CHECK-SAME: (%{{.*}}: memref<8xf32>, %{{.*}}: index, %{{.*}}: f32) -> f32 attributes {field.rare}
// CHECK-COUNT-7: arith.select
// CHECK: return
// CHECK-LABEL: func.func @chain
// CHECK: %[[F:.*]] = memref.load %arg0
// CHECK-NOT: arith.select
// CHECK: arith.negf
// CHECK-NOT: arith.select
// CHECK: %[[U:.*]] = arith.divf %{{.*}}, %[[F]]
// CHECK-NEXT: %[[BAD:.*]] = arith.cmpf uno, %[[U]], %[[U]]
// CHECK: %[[V:.*]] = scf.if %[[BAD]] -> (f32)
// CHECK: %[[CALLED:.*]] = func.call @chain.guarded0(%arg0, %{{.*}}, %arg2)
// CHECK: scf.yield %[[CALLED]]
// CHECK: scf.yield %[[U]]
// CHECK: {field.rare}
// CHECK: %[[OLD:.*]] = memref.load %arg1
// CHECK: %[[NEW:.*]] = arith.addf %[[OLD]], %[[V]]
// CHECK: memref.store %[[NEW]], %arg1
func.func @chain(%x: memref<8xf32>, %g: memref<8xf32>, %a0: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c8 step %c1 {
    %f = memref.load %x[%i] : memref<8xf32>
    %t0 = arith.cmpf oeq, %a0, %zero : f32
    %p0 = arith.mulf %a0, %f : f32
    %a1 = arith.select %t0, %zero, %p0 : f32
    %t1 = arith.cmpf oeq, %a1, %zero : f32
    %p1 = arith.divf %a1, %f : f32
    %a2 = arith.select %t1, %zero, %p1 : f32
    %t2 = arith.cmpf oeq, %a2, %zero : f32
    %p2 = arith.mulf %a2, %f : f32
    %n2 = arith.negf %p2 : f32
    %a3 = arith.select %t2, %zero, %n2 : f32
    %t3 = arith.cmpf oeq, %a3, %zero : f32
    %p3 = arith.mulf %a3, %f : f32
    %a4 = arith.select %t3, %zero, %p3 : f32
    %t4 = arith.cmpf oeq, %a4, %zero : f32
    %p4 = arith.mulf %a4, %f : f32
    %a5 = arith.select %t4, %zero, %p4 : f32
    %t5 = arith.cmpf oeq, %a5, %zero : f32
    %p5 = arith.divf %a5, %f : f32
    %a6 = arith.select %t5, %zero, %p5 : f32
    %t6 = arith.cmpf uno, %a6, %a6 : f32
    %z6 = arith.cmpf oeq, %a5, %zero : f32
    %b6 = arith.andi %t6, %z6 : i1
    %a7 = arith.select %b6, %zero, %a6 : f32
    %old = memref.load %g[%i] : memref<8xf32>
    %new = arith.addf %old, %a7 : f32
    memref.store %new, %g[%i] : memref<8xf32>
  } {field.any_order}
  return
}

// The tangent of a guarded number is 0 where that was a NaN, whatever it is itself, and what is no
// sum or product may hide a NaN: these are looked at, too. A choice of what is not a multiple of
// what is compared stays, and so does one by a comparison of the program's own.
// CHECK-LABEL: func.func private @tangents.guarded0
// CHECK-LABEL: func.func @tangents
// CHECK: %[[P:.*]] = arith.mulf %arg0, %arg1 : f32
// CHECK: %[[D:.*]] = arith.addf %{{.*}}, %arg2
// CHECK: %[[KEPT:.*]] = arith.select %{{.*}}, %{{.*}}, %arg2
// CHECK: %[[E:.*]] = arith.select %{{.*}}, %{{.*}}, %[[D]]
// CHECK-NOT: arith.select
// CHECK: %[[M:.*]] = arith.maximumf %[[P]], %[[K:.*]] : f32
// CHECK-NEXT: arith.cmpf uno, %[[KEPT]], %[[E]]
// CHECK-NEXT: arith.cmpf uno, %[[M]], %[[P]]
// CHECK-NEXT: arith.cmpf uno, %[[D]], %[[K]]
// CHECK: scf.if
// CHECK: func.call @tangents.guarded0(%arg0, %arg1, %arg2)
func.func @tangents(%a: f32, %f: f32, %c: f32, %m: memref<4xf32>) {
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  %i2 = arith.constant 2 : index
  %i3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  %p = arith.mulf %a, %f : f32
  %n = arith.cmpf uno, %p, %p : f32
  %z = arith.cmpf oeq, %a, %zero : f32
  %b = arith.andi %n, %z : i1
  %v = arith.select %b, %zero, %p : f32
  %q = arith.mulf %v, %f : f32
  %zq = arith.cmpf oeq, %v, %zero : f32
  %w = arith.select %zq, %zero, %q : f32
  %d0 = arith.addf %w, %c : f32
  %d = arith.select %b, %zero, %d0 : f32
  %kept = arith.select %zq, %zero, %c : f32
  %own = arith.cmpf oeq, %d, %zero {field.decision} : f32
  %e = arith.select %own, %zero, %d : f32
  %g0 = arith.mulf %v, %c : f32
  %g1 = arith.select %zq, %zero, %g0 : f32
  %h0 = arith.mulf %g1, %c : f32
  %zh = arith.cmpf oeq, %g1, %zero : f32
  %h = arith.select %zh, %zero, %h0 : f32
  %j0 = arith.mulf %h, %c : f32
  %zj = arith.cmpf oeq, %h, %zero : f32
  %j = arith.select %zj, %zero, %j0 : f32
  %k0 = arith.mulf %j, %c : f32
  %zk = arith.cmpf oeq, %j, %zero : f32
  %k = arith.select %zk, %zero, %k0 : f32
  %greatest = arith.maximumf %v, %k : f32
  memref.store %greatest, %m[%i0] : memref<4xf32>
  memref.store %e, %m[%i1] : memref<4xf32>
  memref.store %kept, %m[%i2] : memref<4xf32>
  return
}

// As many results as guards: nothing is won.
// CHECK-LABEL: func.func @few
// CHECK-COUNT-2: arith.select
// CHECK-NOT: scf.if
func.func @few(%a: f32, %f: f32) -> (f32, f32) {
  %zero = arith.constant 0.0 : f32
  %t = arith.cmpf oeq, %a, %zero : f32
  %p = arith.mulf %a, %f : f32
  %v = arith.select %t, %zero, %p : f32
  %q = arith.divf %a, %f : f32
  %w = arith.select %t, %zero, %q : f32
  return %v, %w : f32, f32
}

// LLVM has vectors for a loop of elements that lie side by side, if nothing is called there.
// CHECK-LABEL: func.func @serial
// CHECK: scf.for {{.*}} iter_args(%[[SUM:.*]] = %{{.*}})
// CHECK: %[[V:.*]] = scf.if
// CHECK: %[[NEW:.*]] = arith.addf %[[SUM]], %[[V]]
// CHECK: scf.yield %[[NEW]]
// LLVM-LABEL: func.func @chain
// LLVM-NOT: scf.if
// LLVM-LABEL: func.func @tangents
// LLVM: scf.if
func.func @serial(%x: memref<8xf32>, %a0: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %sum = scf.for %i = %c0 to %c8 step %c1 iter_args(%s = %zero) -> (f32) {
    %f = memref.load %x[%i] : memref<8xf32>
    %t0 = arith.cmpf oeq, %a0, %zero : f32
    %p0 = arith.mulf %a0, %f : f32
    %a1 = arith.select %t0, %zero, %p0 : f32
    %t1 = arith.cmpf oeq, %a1, %zero : f32
    %p1 = arith.divf %a1, %f : f32
    %a2 = arith.select %t1, %zero, %p1 : f32
    %t2 = arith.cmpf oeq, %a2, %zero : f32
    %p2 = arith.mulf %a2, %f : f32
    %a3 = arith.select %t2, %zero, %p2 : f32
    %t3 = arith.cmpf oeq, %a3, %zero : f32
    %p3 = arith.mulf %a3, %f : f32
    %a4 = arith.select %t3, %zero, %p3 : f32
    %t4 = arith.cmpf oeq, %a4, %zero : f32
    %p4 = arith.mulf %a4, %f : f32
    %a5 = arith.select %t4, %zero, %p4 : f32
    %new = arith.addf %s, %a5 : f32
    scf.yield %new : f32
  }
  return %sum : f32
}

// Loops over the few iterations at an end of what was one loop stay as they are.
// CHECK-LABEL: func.func @end
// CHECK-COUNT-6: arith.select
func.func @end(%x: memref<8xf32>, %g: memref<8xf32>, %a0: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c8 step %c1 {
    %f = memref.load %x[%i] : memref<8xf32>
    %t0 = arith.cmpf oeq, %a0, %zero : f32
    %p0 = arith.mulf %a0, %f : f32
    %a1 = arith.select %t0, %zero, %p0 : f32
    %t1 = arith.cmpf oeq, %a1, %zero : f32
    %p1 = arith.divf %a1, %f : f32
    %a2 = arith.select %t1, %zero, %p1 : f32
    %t2 = arith.cmpf oeq, %a2, %zero : f32
    %p2 = arith.mulf %a2, %f : f32
    %a3 = arith.select %t2, %zero, %p2 : f32
    %t3 = arith.cmpf oeq, %a3, %zero : f32
    %p3 = arith.mulf %a3, %f : f32
    %a4 = arith.select %t3, %zero, %p3 : f32
    %t4 = arith.cmpf oeq, %a4, %zero : f32
    %p4 = arith.mulf %a4, %f : f32
    %a5 = arith.select %t4, %zero, %p4 : f32
    %t5 = arith.cmpf oeq, %a5, %zero : f32
    %p5 = arith.divf %a5, %f : f32
    %a6 = arith.select %t5, %zero, %p5 : f32
    memref.store %a6, %g[%i] : memref<8xf32>
  } {field.any_order, field.at_end}
  return
}

// Nothing but the choices uses the numbers that were guarded: their NaNs are looked for, all the same.
// CHECK-LABEL: func.func private @lone.guarded0
// CHECK-LABEL: func.func @lone
// CHECK-NOT: arith.select
// CHECK: arith.cmpf uno
// CHECK: scf.if
// CHECK: func.call @lone.guarded0(
func.func @lone(%a: f32, %c: f32, %m: memref<1xf32>, %f0: f32, %f1: f32, %f2: f32, %f3: f32, %f4: f32, %f5: f32, %f6: f32, %f7: f32) {
  %i0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %z = arith.cmpf oeq, %a, %zero : f32
  %p0 = arith.mulf %a, %f0 : f32
  %n0 = arith.cmpf uno, %p0, %p0 : f32
  %b0 = arith.andi %n0, %z : i1
  %q0 = arith.mulf %c, %f0 : f32
  %d0 = arith.select %b0, %zero, %q0 : f32
  %p1 = arith.mulf %a, %f1 : f32
  %n1 = arith.cmpf uno, %p1, %p1 : f32
  %b1 = arith.andi %n1, %z : i1
  %q1 = arith.mulf %d0, %f1 : f32
  %d1 = arith.select %b1, %zero, %q1 : f32
  %p2 = arith.mulf %a, %f2 : f32
  %n2 = arith.cmpf uno, %p2, %p2 : f32
  %b2 = arith.andi %n2, %z : i1
  %q2 = arith.mulf %d1, %f2 : f32
  %d2 = arith.select %b2, %zero, %q2 : f32
  %p3 = arith.mulf %a, %f3 : f32
  %n3 = arith.cmpf uno, %p3, %p3 : f32
  %b3 = arith.andi %n3, %z : i1
  %q3 = arith.mulf %d2, %f3 : f32
  %d3 = arith.select %b3, %zero, %q3 : f32
  %p4 = arith.mulf %a, %f4 : f32
  %n4 = arith.cmpf uno, %p4, %p4 : f32
  %b4 = arith.andi %n4, %z : i1
  %q4 = arith.mulf %d3, %f4 : f32
  %d4 = arith.select %b4, %zero, %q4 : f32
  %p5 = arith.mulf %a, %f5 : f32
  %n5 = arith.cmpf uno, %p5, %p5 : f32
  %b5 = arith.andi %n5, %z : i1
  %q5 = arith.mulf %d4, %f5 : f32
  %d5 = arith.select %b5, %zero, %q5 : f32
  %p6 = arith.mulf %a, %f6 : f32
  %n6 = arith.cmpf uno, %p6, %p6 : f32
  %b6 = arith.andi %n6, %z : i1
  %q6 = arith.mulf %d5, %f6 : f32
  %d6 = arith.select %b6, %zero, %q6 : f32
  %p7 = arith.mulf %a, %f7 : f32
  %n7 = arith.cmpf uno, %p7, %p7 : f32
  %b7 = arith.andi %n7, %z : i1
  %q7 = arith.mulf %d6, %f7 : f32
  %d7 = arith.select %b7, %zero, %q7 : f32
  memref.store %d7, %m[%i0] : memref<1xf32>
  return
}
