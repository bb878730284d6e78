// RUN: mlirad-opt %s --split-input-file --insert-first-updates | filecheck %s
// RUN: mlirad-opt %s --split-input-file --insert-first-updates --insert-first-updates | filecheck %s

// CHECK: snode.place @"$begun.x.grad" {field.begun = @x.grad}
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0, 1], extents = [256, 512]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// CHECK-LABEL: func.func @all_of_it
// CHECK: %[[WORD:.*]] = field.load %{{.*}} : i8
// CHECK: %[[BEGUN:.*]] = arith.cmpi ne, %[[WORD]], %{{.*}} : i8
// CHECK: scf.parallel (%[[I:.*]]) =
// CHECK: scf.for %[[J:.*]] =
// CHECK: %[[THERE:.*]] = field.load %[[X:.*]][%[[I]], %[[J]]]
// CHECK: %[[OLD:.*]] = arith.select %[[BEGUN]], %{{.*}}, %[[THERE]] : f32
// CHECK: %[[SUM:.*]] = arith.addf %[[OLD]], %{{.*}} : f32
// CHECK: field.store %[[SUM]], %[[X]][%[[I]], %[[J]]]
// CHECK-NOT: field.atomic
func.func @all_of_it(%v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  %c512 = arith.constant 512 : index
  %g = "field.get"() {field = @x.grad} : () -> !field.array<f32, [256, 512]>
  scf.parallel (%i) = (%c0) to (%c256) step (%c1) {
    scf.for %j = %c0 to %c512 step %c1 {
      %0 = "field.atomic"(%v, %g, %i, %j) {kind = "add", field.plain} : (f32, !field.array<f32, [256, 512]>, index, index) -> f32
    }
    scf.reduce
  }
  return
}

// -----

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "v", element = f32, component_shape = [2], adjoint = @v.grad} : () -> ()
    "snode.place"() {sym_name = "v.grad", element = f32, component_shape = [2]} : () -> ()
  }) {axes = [0], extents = [65536]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// CHECK-LABEL: func.func @every_component
// CHECK: arith.select
// CHECK: arith.select
// CHECK-NOT: field.atomic
func.func @every_component(%v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 65536 : index
  %g = "field.get"() {field = @v.grad} : () -> !field.array<f32, [65536, 2]>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %0 = "field.atomic"(%v, %g, %i, %c0) {kind = "add", field.plain} : (f32, !field.array<f32, [65536, 2]>, index, index) -> f32
    %1 = "field.atomic"(%v, %g, %i, %c1) {kind = "add", field.plain} : (f32, !field.array<f32, [65536, 2]>, index, index) -> f32
    scf.reduce
  }
  return
}

// -----

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "v", element = f32, component_shape = [2], adjoint = @v.grad} : () -> ()
    "snode.place"() {sym_name = "v.grad", element = f32, component_shape = [2]} : () -> ()
  }) {axes = [0], extents = [65536]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// One component is left as it was.
// CHECK-LABEL: func.func @one_component
// CHECK-NOT: arith.select
func.func @one_component(%v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 65536 : index
  %g = "field.get"() {field = @v.grad} : () -> !field.array<f32, [65536, 2]>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %0 = "field.atomic"(%v, %g, %i, %c1) {kind = "add", field.plain} : (f32, !field.array<f32, [65536, 2]>, index, index) -> f32
    scf.reduce
  }
  return
}

// -----

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f64, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f64, component_shape = []} : () -> ()
  }) {axes = [0], extents = [65536]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// The last element is not reached.
// CHECK-LABEL: func.func @but_for_one
// CHECK-NOT: arith.select
func.func @but_for_one(%v: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 65535 : index
  %g = "field.get"() {field = @x.grad} : () -> !field.array<f64, [65536]>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %0 = "field.atomic"(%v, %g, %i) {kind = "add", field.plain} : (f64, !field.array<f64, [65536]>, index) -> f64
    scf.reduce
  }
  return
}

// -----

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f64, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f64, component_shape = []} : () -> ()
  }) {axes = [0], extents = [65536]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// CHECK-LABEL: func.func @under_a_condition
// CHECK-NOT: arith.select
func.func @under_a_condition(%v: f64, %if: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 65536 : index
  %g = "field.get"() {field = @x.grad} : () -> !field.array<f64, [65536]>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    scf.if %if {
      %0 = "field.atomic"(%v, %g, %i) {kind = "add", field.plain} : (f64, !field.array<f64, [65536]>, index) -> f64
    }
    scf.reduce
  }
  return
}

// -----

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f64, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f64, component_shape = []} : () -> ()
  }) {axes = [0], extents = [65536]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// CHECK-LABEL: func.func @twice
// CHECK-NOT: arith.select
func.func @twice(%v: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n = arith.constant 65536 : index
  %g = "field.get"() {field = @x.grad} : () -> !field.array<f64, [65536]>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    scf.for %k = %c0 to %c2 step %c1 {
      %0 = "field.atomic"(%v, %g, %i) {kind = "add", field.plain} : (f64, !field.array<f64, [65536]>, index) -> f64
    }
    scf.reduce
  }
  return
}

// -----

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f64, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f64, component_shape = []} : () -> ()
  }) {axes = [0], extents = [65536]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// CHECK-LABEL: func.func @read_too
// CHECK-NOT: arith.select
func.func @read_too(%v: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 65536 : index
  %g = "field.get"() {field = @x.grad} : () -> !field.array<f64, [65536]>
  %first = "field.load"(%g, %c0) : (!field.array<f64, [65536]>, index) -> f64
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %0 = "field.atomic"(%v, %g, %i) {kind = "add", field.plain} : (f64, !field.array<f64, [65536]>, index) -> f64
    scf.reduce
  }
  return %first : f64
}

// -----

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [64]} : () -> ()
  "snode.dense"() ({
    "snode.place"() {sym_name = "y", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [65536]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// Few elements are cleared at once, and what is no derivative is not cleared.
// CHECK-LABEL: func.func @none_of_these
// CHECK-NOT: arith.select
func.func @none_of_these(%v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %few = arith.constant 64 : index
  %n = arith.constant 65536 : index
  %g = "field.get"() {field = @x.grad} : () -> !field.array<f32, [64]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [65536]>
  scf.parallel (%i) = (%c0) to (%few) step (%c1) {
    %0 = "field.atomic"(%v, %g, %i) {kind = "add", field.plain} : (f32, !field.array<f32, [64]>, index) -> f32
    scf.reduce
  }
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %0 = "field.atomic"(%v, %y, %i) {kind = "add", field.plain} : (f32, !field.array<f32, [65536]>, index) -> f32
    scf.reduce
  }
  return
}
