// RUN: mlirad-opt %s --split-scatter-loops --canonicalize --cse | filecheck %s
// RUN: mlirad-opt %s --split-scatter-loops --split-scatter-loops --canonicalize --cse | filecheck %s

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "g", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
  "snode.dense"() ({
    "snode.place"() {sym_name = "h", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// CHECK-LABEL: func.func @own_and_next_element
// CHECK: scf.parallel (%[[P:.*]]) = (%c1) to (%c15)
// CHECK: %[[HERE:.*]] = field.load %arg0[%[[P]]]
// CHECK: %[[BEFORE:.*]] = arith.subi %[[P]], %c1
// CHECK: %[[THERE:.*]] = field.load %arg0[%[[BEFORE]]]
// CHECK: %[[SUM:.*]] = arith.addf %[[HERE]], %[[THERE]]
// CHECK-NEXT: field.atomic add %[[SUM]], %{{.*}}[%[[P]]]
func.func @own_and_next_element(%x: !field.array<f32, [16]>) {
  %g = "field.get"() {field = @g} : () -> !field.array<f32, [16]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c15 = arith.constant 15 : index
  scf.parallel (%i) = (%c0) to (%c15) step (%c1) {
    %j = arith.addi %i, %c1 : index
    %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
    %a = "field.atomic"(%v, %g, %i) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    %b = "field.atomic"(%v, %g, %j) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
  }
  return
}

// CHECK-LABEL: func.func @read_as_well
// CHECK-COUNT-1: scf.parallel
// CHECK: field.atomic
// CHECK-NEXT: field.atomic
func.func @read_as_well(%x: !field.array<f32, [16]>) {
  %g = "field.get"() {field = @g} : () -> !field.array<f32, [16]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c15 = arith.constant 15 : index
  scf.parallel (%i) = (%c0) to (%c15) step (%c1) {
    %j = arith.addi %i, %c1 : index
    %v = "field.load"(%g, %i) : (!field.array<f32, [16]>, index) -> f32
    %a = "field.atomic"(%v, %g, %i) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    %b = "field.atomic"(%v, %g, %j) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
  }
  return
}

// CHECK-LABEL: func.func @one_element_for_each_iteration
// CHECK-COUNT-1: scf.parallel
// CHECK-COUNT-1: field.atomic
// CHECK: return
func.func @one_element_for_each_iteration(%v: f32) {
  %g = "field.get"() {field = @g} : () -> !field.array<f32, [16]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c15 = arith.constant 15 : index
  scf.parallel (%i) = (%c0) to (%c15) step (%c1) {
    %a = "field.atomic"(%v, %g, %i) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
  }
  return
}

// What an iteration reads and then clears, under one condition, is read before any iteration clears it.
// CHECK-LABEL: func.func @read_and_cleared
// CHECK-COUNT-2: scf.parallel
func.func @read_and_cleared(%x: !field.array<f32, [16]>) {
  %g = "field.get"() {field = @g} : () -> !field.array<f32, [16]>
  %h = "field.get"() {field = @h} : () -> !field.array<f32, [16]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c15 = arith.constant 15 : index
  %none = arith.constant 0.0 : f32
  scf.parallel (%i) = (%c0) to (%c15) step (%c1) {
    %inside = arith.cmpi sgt, %i, %c1 : index
    scf.if %inside {
      %j = arith.addi %i, %c1 : index
      %v = "field.load"(%h, %i) : (!field.array<f32, [16]>, index) -> f32
      "field.store"(%none, %h, %i) : (f32, !field.array<f32, [16]>, index) -> ()
      %a = "field.atomic"(%v, %g, %i) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
      %b = "field.atomic"(%v, %g, %j) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    }
  }
  return
}

// What is cleared first stays with what is read of it.
// CHECK-LABEL: func.func @cleared_and_read
// CHECK-COUNT-1: scf.parallel
// CHECK-NOT: scf.parallel
func.func @cleared_and_read(%x: !field.array<f32, [16]>) {
  %g = "field.get"() {field = @g} : () -> !field.array<f32, [16]>
  %h = "field.get"() {field = @h} : () -> !field.array<f32, [16]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c15 = arith.constant 15 : index
  %none = arith.constant 0.0 : f32
  scf.parallel (%i) = (%c0) to (%c15) step (%c1) {
    %inside = arith.cmpi sgt, %i, %c1 : index
    scf.if %inside {
      %j = arith.addi %i, %c1 : index
      "field.store"(%none, %h, %i) : (f32, !field.array<f32, [16]>, index) -> ()
      %v = "field.load"(%h, %i) : (!field.array<f32, [16]>, index) -> f32
      %a = "field.atomic"(%v, %g, %i) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
      %b = "field.atomic"(%v, %g, %j) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    }
  }
  return
}

// Another array that is updated in the same way, as an adjoint's tangent is, goes into the same
// loop, where it finds what both are made of; one that is updated in another way has its own.
// CHECK-LABEL: func.func @beside
// CHECK: scf.parallel (%[[P:.*]]) = (%c1) to (%c15)
// CHECK: %[[HERE:.*]] = field.load %arg0[%[[P]]]
// CHECK: %[[THERE:.*]] = field.load %arg0[%
// CHECK: %[[SUM:.*]] = arith.addf %[[HERE]], %[[THERE]]
// CHECK-NEXT: %[[W:.*]] = arith.mulf %[[HERE]], %arg1
// CHECK-NEXT: %[[U:.*]] = arith.mulf %[[THERE]], %arg1
// CHECK-NEXT: %[[TANGENT:.*]] = arith.addf %[[W]], %[[U]]
// CHECK-NEXT: field.atomic add %[[SUM]]
// CHECK-NEXT: field.atomic add %[[TANGENT]]
// CHECK-LABEL: func.func @otherwise
// CHECK: scf.parallel (%{{.*}}) = (%c1) to (%c14)
// CHECK-COUNT-1: field.atomic
// CHECK: scf.parallel (%{{.*}}) = (%c2) to (%c14)
// CHECK-COUNT-1: field.atomic
func.func @beside(%x: !field.array<f32, [16]>, %t: f32) {
  %g = "field.get"() {field = @g} : () -> !field.array<f32, [16]>
  %h = "field.get"() {field = @h} : () -> !field.array<f32, [16]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c15 = arith.constant 15 : index
  scf.parallel (%i) = (%c0) to (%c15) step (%c1) {
    %j = arith.addi %i, %c1 : index
    %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
    %w = arith.mulf %v, %t : f32
    %0 = "field.atomic"(%v, %g, %i) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    %1 = "field.atomic"(%w, %h, %i) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    %2 = "field.atomic"(%v, %g, %j) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    %3 = "field.atomic"(%w, %h, %j) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
  }
  return
}
func.func @otherwise(%x: !field.array<f32, [16]>, %t: f32) {
  %g = "field.get"() {field = @g} : () -> !field.array<f32, [16]>
  %h = "field.get"() {field = @h} : () -> !field.array<f32, [16]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c14 = arith.constant 14 : index
  %c15 = arith.constant 15 : index
  scf.parallel (%i) = (%c0) to (%c14) step (%c1) {
    %j = arith.addi %i, %c1 : index
    %k = arith.addi %i, %c2 : index
    %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
    %0 = "field.atomic"(%v, %g, %i) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    %1 = "field.atomic"(%v, %h, %i) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    %2 = "field.atomic"(%v, %g, %j) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    %3 = "field.atomic"(%v, %h, %k) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
  }
  return
}
