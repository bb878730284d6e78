// RUN: mlirad-opt %s --gather-pair-updates --mem2reg --canonicalize --cse | filecheck %s
// RUN: mlirad-opt %s --gather-pair-updates="fast=false" --mem2reg --canonicalize --cse | filecheck %s --check-prefix=EXACT

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "g", element = f32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// The force on one body is the opposite of that on the other: without fast math only its square is the same to the bit.
// CHECK-LABEL: func.func @opposite(
// CHECK: scf.parallel (%[[I:.*]]) =
// CHECK: %[[SUM:.*]] = scf.for {{.*}} iter_args(%[[S:.*]] = %
// CHECK-COUNT-1: arith.subf
// CHECK-NOT: arith.subf
// CHECK: %[[FORCE:.*]] = arith.divf
// CHECK: %[[BOTH:.*]] = arith.addf %[[FORCE]], %[[FORCE]]
// CHECK: %[[NEXT:.*]] = arith.addf %[[S]], %[[BOTH]]
// CHECK-NOT: field.atomic
// CHECK: scf.yield %[[NEXT]]
// CHECK: field.atomic add %[[SUM]], %{{.*}}[%[[I]]]
// CHECK-NOT: field.atomic
// CHECK: return
// EXACT-LABEL: func.func @opposite(
// EXACT: %[[D:.*]] = arith.subf %[[HERE:.*]], %[[THERE:.*]] {field.derivative} :
// EXACT: %[[SQUARE:.*]] = arith.mulf %[[D]], %[[D]]
// EXACT: arith.divf %[[D]], %[[SQUARE]]
// EXACT: %[[E:.*]] = arith.subf %[[THERE]], %[[HERE]]
// EXACT-NOT: arith.mulf
// EXACT: arith.divf %[[E]], %[[SQUARE]]
// EXACT: return
func.func @opposite() {
  %g = "field.get"() {field = @g} : () -> !field.array<f32, [16]>
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    %here = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
    %sum = scf.for %j = %c0 to %c16 step %c1 iter_args(%s = %zero) -> (f32) {
      %there = "field.load"(%x, %j) : (!field.array<f32, [16]>, index) -> f32
      %d = arith.subf %here, %there {field.derivative} : f32
      %square = arith.mulf %d, %d {field.derivative} : f32
      %force = arith.divf %d, %square {field.derivative} : f32
      %back = arith.negf %force {field.derivative} : f32
      %o = "field.atomic"(%back, %g, %j) {field.derivative, kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
      %next = arith.addf %s, %force {field.derivative} : f32
      scf.yield %next : f32
    }
    %p = "field.atomic"(%sum, %g, %i) {field.derivative, kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    scf.reduce
  }
  return
}

// What the loop carries no sum of gets one. What does not depend on the second element is computed in front.
// CHECK-LABEL: func.func @own_sum(
// CHECK: scf.parallel (%[[I:.*]]) = (%c0) to (%arg0)
// CHECK: %[[HERE:.*]] = field.load %{{.*}}[%[[I]]]
// CHECK: %[[ROOT:.*]] = math.sqrt %[[HERE]]
// CHECK: %[[SUM:.*]] = scf.for {{.*}} iter_args(%[[S:.*]] = %cst) -> (f32) {
// CHECK-NEXT: %[[NEXT:.*]] = arith.addf %[[S]], %[[ROOT]]
// CHECK-NEXT: scf.yield %[[NEXT]]
// CHECK: field.atomic add %[[SUM]], %{{.*}}[%[[I]]]
// CHECK: field.atomic add %[[HERE]], %{{.*}}[%[[I]]]
func.func @own_sum(%n: index) {
  %g = "field.get"() {field = @g} : () -> !field.array<f32, [16]>
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %here = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
    scf.for %j = %c0 to %n step %c1 {
      %there = "field.load"(%x, %j) : (!field.array<f32, [16]>, index) -> f32
      %root = math.sqrt %there {field.derivative} : f32
      %o = "field.atomic"(%root, %g, %j) {field.derivative, kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    }
    %p = "field.atomic"(%here, %g, %i) {field.derivative, kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    scf.reduce
  }
  return
}

// Quotients are not cancelled: what they divide by may be 0.
// CHECK-LABEL: func.func @not_cancelled(
// CHECK: scf.for
// CHECK-COUNT-2: arith.divf
// CHECK: return
func.func @not_cancelled(%x: !field.array<f32, [16]>, %g: !field.array<f32, [16]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    %here = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
    scf.for %j = %c0 to %c16 step %c1 {
      %there = "field.load"(%x, %j) : (!field.array<f32, [16]>, index) -> f32
      %p = arith.mulf %here, %there {field.derivative} : f32
      %q = arith.divf %p, %there {field.derivative} : f32
      %o = "field.atomic"(%q, %g, %j) {field.derivative, kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
      %r = "field.atomic"(%q, %g, %i) {field.derivative, kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    }
    scf.reduce
  }
  return
}

// Other trips, arrays that are read or written beside, results that are used, what is dear to compute anew, updates of
// one element of a pair only: all stay.
// CHECK-LABEL: func.func @stay(
// CHECK-COUNT-6: field.atomic add {{.*}} {field.derivative, stays}
// CHECK: return
func.func @stay(%x: !field.array<f32, [16]>, %g: !field.array<f32, [16]>, %h: !field.array<f32, [16]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c15 = arith.constant 15 : index
  %c16 = arith.constant 16 : index
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    scf.for %j = %c0 to %c15 step %c1 {
      %v = "field.load"(%x, %j) : (!field.array<f32, [16]>, index) -> f32
      %o = "field.atomic"(%v, %g, %j) {field.derivative, kind = "add", stays} : (f32, !field.array<f32, [16]>, index) -> f32
      %p = "field.atomic"(%v, %g, %i) {field.derivative, kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    }
    scf.reduce
  }
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    scf.for %j = %c0 to %c16 step %c1 {
      %v = "field.load"(%g, %j) : (!field.array<f32, [16]>, index) -> f32
      %o = "field.atomic"(%v, %g, %j) {field.derivative, kind = "add", stays} : (f32, !field.array<f32, [16]>, index) -> f32
      %p = "field.atomic"(%v, %g, %i) {field.derivative, kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    }
    scf.reduce
  }
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    scf.for %j = %c0 to %c16 step %c1 {
      %v = "field.load"(%x, %j) : (!field.array<f32, [16]>, index) -> f32
      %o = "field.atomic"(%v, %g, %j) {field.derivative, kind = "add", stays} : (f32, !field.array<f32, [16]>, index) -> f32
      %p = "field.atomic"(%v, %g, %i) {field.derivative, kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    }
    %w = "field.load"(%h, %i) : (!field.array<f32, [16]>, index) -> f32
    "field.store"(%w, %x, %i) : (f32, !field.array<f32, [16]>, index) -> ()
    scf.reduce
  }
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    scf.for %j = %c0 to %c16 step %c1 {
      %v = "field.load"(%x, %j) : (!field.array<f32, [16]>, index) -> f32
      %o = "field.atomic"(%v, %g, %j) {field.derivative, kind = "add", stays} : (f32, !field.array<f32, [16]>, index) -> f32
      %p = "field.atomic"(%o, %g, %i) {field.derivative, kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    }
    scf.reduce
  }
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    %u = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
    scf.for %j = %c0 to %c16 step %c1 {
      %v = "field.load"(%x, %j) : (!field.array<f32, [16]>, index) -> f32
      %w = arith.divf %v, %u {field.derivative} : f32
      %s = math.sin %w {field.derivative} : f32
      %o = "field.atomic"(%s, %g, %j) {field.derivative, kind = "add", stays} : (f32, !field.array<f32, [16]>, index) -> f32
      %p = "field.atomic"(%s, %g, %i) {field.derivative, kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    }
    scf.reduce
  }
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    scf.for %j = %c0 to %c16 step %c1 {
      %v = "field.load"(%x, %j) : (!field.array<f32, [16]>, index) -> f32
      %o = "field.atomic"(%v, %g, %j) {field.derivative, kind = "add", stays} : (f32, !field.array<f32, [16]>, index) -> f32
      %p = "field.atomic"(%v, %h, %i) {field.derivative, kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    }
    scf.reduce
  }
  return
}
