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
// CHECK: %[[HERE:.*]] = "field.load"(%arg0, %[[P]])
// CHECK: %[[BEFORE:.*]] = arith.subi %[[P]], %c1
// CHECK: %[[THERE:.*]] = "field.load"(%arg0, %[[BEFORE]])
// CHECK: %[[SUM:.*]] = arith.addf %[[HERE]], %[[THERE]]
// CHECK-NEXT: "field.atomic"(%[[SUM]], %{{.*}}, %[[P]])
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
// CHECK: "field.atomic"
// CHECK-NEXT: "field.atomic"
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
// CHECK-COUNT-1: "field.atomic"
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
