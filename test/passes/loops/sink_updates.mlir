// RUN: mlirad-opt %s --sink-updates --mem2reg --canonicalize --cse | filecheck %s
// RUN: mlirad-opt %s --sink-updates --sink-updates --mem2reg --canonicalize --cse | filecheck %s

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "g", element = f32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "h", element = f32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// An element that every trip adds to is updated once; the one of another index stays, which only adds as well.
// CHECK-LABEL: func.func @pairs(
// CHECK: %[[SUM:.*]] = scf.for %[[J:.*]] = {{.*}} iter_args(%[[S:.*]] = %cst) -> (f32) {
// CHECK: %[[NEXT:.*]] = arith.addf %[[S]]
// CHECK-NEXT: field.atomic add %{{.*}}, %{{.*}}[%[[J]]]
// CHECK: scf.yield %[[NEXT]]
// CHECK: field.atomic add %[[SUM]], %{{.*}}[%{{.*}}] {field.loose}
func.func @pairs() {
  %g = "field.get"() {field = @g} : () -> !field.array<f32, [16]>
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    scf.for %j = %c0 to %c16 step %c1 {
      %v = "field.load"(%x, %j) : (!field.array<f32, [16]>, index) -> f32
      %o = "field.atomic"(%v, %g, %i) {kind = "add", field.loose} : (f32, !field.array<f32, [16]>, index) -> f32
      %p = "field.atomic"(%v, %g, %j) {field.derivative, kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    }
    scf.reduce
  }
  return
}

// A loop that may not run, or updates in branches only, leaves alone what it did not update.
// CHECK-LABEL: func.func @may_not_run(
// CHECK: %[[RAN:.*]]:2 = scf.for
// CHECK: scf.if %[[RAN]]#{{[01]}} {
// CHECK-NEXT: field.atomic {{[a-z]+}} %[[RAN]]#{{[01]}}, %
// CHECK: %[[SUM:.*]] = scf.for
// CHECK: %[[RUNS:.*]] = arith.cmpi sgt, %arg0, %c0
// CHECK-NEXT: scf.if %[[RUNS]] {
// CHECK-NEXT: field.atomic {{[a-z]+}} %[[SUM]], %
func.func @may_not_run(%n: index) {
  %g = "field.get"() {field = @g} : () -> !field.array<f32, [16]>
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    scf.for %j = %c0 to %c16 step %c1 {
      %v = "field.load"(%x, %j) : (!field.array<f32, [16]>, index) -> f32
      %here = arith.cmpi slt, %j, %n : index
      scf.if %here {
        %o = "field.atomic"(%v, %g, %n) {field.derivative, kind = "max"} : (f32, !field.array<f32, [16]>, index) -> f32
      }
    }
    scf.for %j = %c0 to %n step %c1 {
      %v = "field.load"(%x, %j) : (!field.array<f32, [16]>, index) -> f32
      %o = "field.atomic"(%v, %g, %i) {field.derivative, kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    }
    scf.reduce
  }
  return
}

// Updates that are read, exact, of several kinds, or beside a load of the array, stay.
// CHECK-LABEL: func.func @seen(
// CHECK: scf.for
// CHECK-COUNT-4: field.atomic
// CHECK: scf.for
// CHECK-COUNT-1: field.atomic
// CHECK: return
func.func @seen() {
  %g = "field.get"() {field = @g} : () -> !field.array<f32, [16]>
  %h = "field.get"() {field = @h} : () -> !field.array<f32, [16]>
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %one = arith.constant 1.0 : f32
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    %s = scf.for %j = %c0 to %c16 step %c1 iter_args(%s = %one) -> (f32) {
      %o = "field.atomic"(%one, %g, %i) {field.derivative, kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
      %p = "field.atomic"(%one, %h, %i) {field.derivative, kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
      %q = "field.atomic"(%one, %h, %j) {field.derivative, kind = "mul"} : (f32, !field.array<f32, [16]>, index) -> f32
      %r = "field.atomic"(%one, %x, %i) {kind = "add", field.exact} : (f32, !field.array<f32, [16]>, index) -> f32
      scf.yield %o : f32
    }
    scf.for %j = %c0 to %c16 step %c1 {
      %v = "field.load"(%g, %j) : (!field.array<f32, [16]>, index) -> f32
      %o = "field.atomic"(%v, %g, %i) {field.derivative, kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    }
    "field.store"(%s, %x, %i) : (f32, !field.array<f32, [16]>, index) -> ()
    scf.reduce
  }
  return
}

// CHECK-LABEL: func.func @through_two_loops(
// CHECK: scf.for
// CHECK: scf.for
// CHECK-NOT: field.atomic
// CHECK: scf.yield
// CHECK: }
// CHECK: field.atomic
// CHECK: return
func.func @through_two_loops(%g: !field.array<i32, [16]>, %v: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.parallel (%i) = (%c0) to (%c4) step (%c1) {
    scf.for %j = %c0 to %c4 step %c1 {
      scf.for %k = %c0 to %j step %c1 {
        %o = "field.atomic"(%v, %g, %i) {field.derivative, kind = "add"} : (i32, !field.array<i32, [16]>, index) -> i32
      }
    }
    scf.reduce
  }
  return
}
