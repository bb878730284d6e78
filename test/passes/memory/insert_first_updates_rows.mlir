// RUN: mlirad-opt %s --split-input-file --insert-first-updates=rows=true | filecheck %s
// RUN: mlirad-opt %s --split-input-file --insert-first-updates=rows=true --insert-first-updates=rows=true | filecheck %s

// CHECK: field.begins = {{.*}}@x.grad, {{.*}}array<i64: -2, 0, 1>, array<i64: -2, 0, 1>
// CHECK: snode.place @"$begun.x.grad" {field.begun = [@x.grad]}
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0, 1], extents = [8, 65536]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// The row t - 2 begins at 0; the row t - 1 was added to before.
// CHECK-LABEL: func.func @a_row
// CHECK: scf.parallel (%[[J:.*]]) =
// CHECK: arith.select
// CHECK: field.store %{{.*}}, %{{.*}}[%[[OLD:.*]], %[[J]]]
// CHECK: field.atomic
// CHECK: field.atomic
// CHECK-NOT: arith.select
func.func @a_row(%t: i32 {field.argument = 0}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n = arith.constant 65536 : index
  %g = "field.get"() {field = @x.grad} : () -> !field.array<f32, [8, 65536]>
  %now = arith.index_cast %t : i32 to index
  %before = arith.subi %now, %c1 : index
  %old = arith.subi %now, %c2 : index
  scf.parallel (%j) = (%c0) to (%n) step (%c1) {
    %v = "field.load"(%g, %now, %j) : (!field.array<f32, [8, 65536]>, index, index) -> f32
    %0 = "field.atomic"(%v, %g, %old, %j) {kind = "add", field.plain} : (f32, !field.array<f32, [8, 65536]>, index, index) -> f32
    %1 = "field.atomic"(%v, %g, %before, %j) {kind = "add", field.plain} : (f32, !field.array<f32, [8, 65536]>, index, index) -> f32
    %2 = "field.atomic"(%v, %g, %before, %j) {kind = "add", field.plain} : (f32, !field.array<f32, [8, 65536]>, index, index) -> f32
    scf.reduce
  }
  return
}

// -----

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0, 1], extents = [8, 65536]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// Elements at both ends are left out, another access may be in the row, or the row is added to twice.
// CHECK-LABEL: func.func @no_row
// CHECK-NOT: arith.select
func.func @no_row(%t: i32 {field.argument = 0}, %s: i32 {field.argument = 1}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 65536 : index
  %less = arith.constant 65535 : index
  %f = arith.constant 1.0 : f32
  %g = "field.get"() {field = @x.grad} : () -> !field.array<f32, [8, 65536]>
  %now = arith.index_cast %t : i32 to index
  %other = arith.index_cast %s : i32 to index
  scf.parallel (%j) = (%c1) to (%less) step (%c1) {
    %0 = "field.atomic"(%f, %g, %now, %j) {kind = "add", field.plain} : (f32, !field.array<f32, [8, 65536]>, index, index) -> f32
    scf.reduce
  }
  scf.parallel (%j) = (%c0) to (%n) step (%c1) {
    %1 = "field.atomic"(%f, %g, %other, %j) {kind = "add", field.plain} : (f32, !field.array<f32, [8, 65536]>, index, index) -> f32
    scf.reduce
  }
  return
}

// -----

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0, 1], extents = [8, 65536]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// An index that wraps around at the end of a row reaches all of it, also by a quotient that is rounded down.
// CHECK-LABEL: func.func @around
// CHECK: arith.select
// CHECK-NOT: field.atomic
func.func @around(%t: i32 {field.argument = 0}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %n = arith.constant 65536 : index
  %f = arith.constant 1.0 : f32
  %g = "field.get"() {field = @x.grad} : () -> !field.array<f32, [8, 65536]>
  %now = arith.index_cast %t : i32 to index
  scf.parallel (%j) = (%c0) to (%n) step (%c1) {
    %behind = arith.subi %j, %c3 : index
    %turns = arith.floordivsi %behind, %n : index
    %whole = arith.muli %turns, %n : index
    %at = arith.subi %behind, %whole : index
    %0 = "field.atomic"(%f, %g, %now, %at) {kind = "add", field.plain} : (f32, !field.array<f32, [8, 65536]>, index, index) -> f32
    scf.reduce
  }
  return
}

// -----

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0, 1], extents = [8, 65536]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// CHECK-LABEL: func.func @around_forwards
// CHECK: arith.select
// CHECK-NOT: field.atomic
func.func @around_forwards(%t: i32 {field.argument = 0}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %n = arith.constant 65536 : index
  %f = arith.constant 1.0 : f32
  %g = "field.get"() {field = @x.grad} : () -> !field.array<f32, [8, 65536]>
  %now = arith.index_cast %t : i32 to index
  scf.parallel (%j) = (%c0) to (%n) step (%c1) {
    %ahead = arith.addi %j, %c3 : index
    %at = arith.remsi %ahead, %n : index
    %0 = "field.atomic"(%f, %g, %now, %at) {kind = "add", field.plain} : (f32, !field.array<f32, [8, 65536]>, index, index) -> f32
    scf.reduce
  }
  return
}

// -----

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0, 1], extents = [8, 65536]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// The remainder of a negative number is negative; of fewer numbers, it reaches a part of the row.
// CHECK-LABEL: func.func @not_around
// CHECK-NOT: arith.select
func.func @not_around(%t: i32 {field.argument = 0}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %few = arith.constant 65535 : index
  %n = arith.constant 65536 : index
  %f = arith.constant 1.0 : f32
  %g = "field.get"() {field = @x.grad} : () -> !field.array<f32, [8, 65536]>
  %now = arith.index_cast %t : i32 to index
  %next = arith.addi %now, %c1 : index
  scf.parallel (%j) = (%c0) to (%n) step (%c1) {
    %behind = arith.subi %j, %c3 : index
    %at = arith.remsi %behind, %n : index
    %0 = "field.atomic"(%f, %g, %now, %at) {kind = "add", field.plain} : (f32, !field.array<f32, [8, 65536]>, index, index) -> f32
    scf.reduce
  }
  scf.parallel (%j) = (%c0) to (%few) step (%c1) {
    %ahead = arith.addi %j, %c3 : index
    %at = arith.remsi %ahead, %n : index
    %0 = "field.atomic"(%f, %g, %next, %at) {kind = "add", field.plain} : (f32, !field.array<f32, [8, 65536]>, index, index) -> f32
    scf.reduce
  }
  return
}

// -----

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0, 1], extents = [256, 256]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// A box that is added to once begins at 0.
// CHECK: field.begins = {{\[\[}}@x.grad, {{\[\[\[}}array<i64: 1>, array<i64: 254>], [array<i64: 0>, array<i64: 99>]]]]]
// CHECK-LABEL: func.func @a_box
// CHECK: arith.select
// CHECK: field.store
func.func @a_box() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 255 : index
  %m = arith.constant 100 : index
  %f = arith.constant 1.0 : f32
  %g = "field.get"() {field = @x.grad} : () -> !field.array<f32, [256, 256]>
  scf.parallel (%i, %j) = (%c1, %c0) to (%n, %m) step (%c1, %c1) {
    %0 = "field.atomic"(%f, %g, %i, %j) {kind = "add", field.plain} : (f32, !field.array<f32, [256, 256]>, index, index) -> f32
    scf.reduce
  }
  return
}
