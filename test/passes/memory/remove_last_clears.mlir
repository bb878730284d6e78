// RUN: mlirad-opt %s --split-input-file --remove-last-clears | filecheck %s
// RUN: mlirad-opt %s --split-input-file --remove-last-clears --remove-last-clears | filecheck %s

// A row of a launch, cleared in the iteration that reads it; another one is added to.

// CHECK: module attributes {field.left = {{\[\[}}@x.grad, {{\[\[\[}}array<i64: 0, 2, 1>, array<i64: 0, 2, 1>], [array<i64: 0>, array<i64: 65535>]]]]]}
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
  }) {axes = [0, 1], extents = [8, 65536]} : () -> ()
  "snode.dense"() ({
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0, 1], extents = [8, 65536]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// CHECK-LABEL: func.func @step
// CHECK: field.load
// CHECK-NOT: field.store
// CHECK: return
func.func @step(%t: index {field.argument = 2}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 65536 : index
  %before = arith.subi %t, %c1 : index
  %g = "field.get"() {field = @x.grad} : () -> !field.array<f32, [8, 65536]>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %0 = "field.load"(%g, %t, %i) : (!field.array<f32, [8, 65536]>, index, index) -> f32
    "field.store"(%zero, %g, %t, %i) : (f32, !field.array<f32, [8, 65536]>, index, index) -> ()
    %1 = "field.atomic"(%0, %g, %before, %i) {kind = "add", field.plain} : (f32, !field.array<f32, [8, 65536]>, index, index) -> f32
    scf.reduce
  }
  return
}

// -----

// The middle of a row, in a loop behind the one that reads it, under a condition on its index.

// CHECK: module attributes {field.left = {{\[\[}}@x.grad, {{\[\[\[}}array<i64: 3>, array<i64: 3>], [array<i64: 2>, array<i64: 65533>]]]]]}
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
  }) {axes = [0, 1], extents = [8, 65536]} : () -> ()
  "snode.dense"() ({
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0, 1], extents = [8, 65536]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// CHECK-LABEL: func.func @middle
// CHECK-COUNT-1: field.store
// CHECK-NOT: field.store
// CHECK: return
func.func @middle(%out: !field.array<f32, [65536]>) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 65534 : index
  %g = "field.get"() {field = @x.grad} : () -> !field.array<f32, [8, 65536]>
  scf.parallel (%i) = (%c2) to (%n) step (%c1) {
    %next = arith.addi %i, %c1 : index
    %0 = "field.load"(%g, %c3, %next) : (!field.array<f32, [8, 65536]>, index, index) -> f32
    "field.store"(%0, %out, %i) : (f32, !field.array<f32, [65536]>, index) -> ()
    scf.reduce
  }
  scf.parallel (%i) = (%c1) to (%n) step (%c1) {
    %low = arith.cmpi sgt, %i, %c1 : index
    scf.if %low {
      "field.store"(%zero, %g, %c3, %i) : (f32, !field.array<f32, [8, 65536]>, index, index) -> ()
    }
    scf.reduce
  }
  return
}

// -----

// Read behind; of a neighbour; by -0; where data says so; of rows that a loop goes through; of rows
// that are small; of what is no derivative.

// CHECK-NOT: field.left
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
  }) {axes = [0, 1], extents = [8, 65536]} : () -> ()
  "snode.dense"() ({
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0, 1], extents = [8, 65536]} : () -> ()
  "snode.dense"() ({
    "snode.place"() {sym_name = "y", element = f32, component_shape = [], adjoint = @y.grad} : () -> ()
  }) {axes = [0, 1], extents = [65536, 8]} : () -> ()
  "snode.dense"() ({
    "snode.place"() {sym_name = "y.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0, 1], extents = [65536, 8]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// CHECK-LABEL: func.func @none
// CHECK-COUNT-7: field.store
func.func @none(%t: index {field.argument = 0}, %if: i1) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %negative = arith.constant -0.0 : f32
  %n = arith.constant 65536 : index
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [8, 65536]>
  %g = "field.get"() {field = @x.grad} : () -> !field.array<f32, [8, 65536]>
  %h = "field.get"() {field = @y.grad} : () -> !field.array<f32, [65536, 8]>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %next = arith.addi %i, %c1 : index
    "field.store"(%zero, %g, %c0, %i) : (f32, !field.array<f32, [8, 65536]>, index, index) -> ()
    %0 = "field.load"(%g, %c1, %next) : (!field.array<f32, [8, 65536]>, index, index) -> f32
    "field.store"(%zero, %g, %c1, %i) : (f32, !field.array<f32, [8, 65536]>, index, index) -> ()
    "field.store"(%negative, %g, %c2, %i) : (f32, !field.array<f32, [8, 65536]>, index, index) -> ()
    scf.if %if {
      "field.store"(%zero, %g, %c3, %i) : (f32, !field.array<f32, [8, 65536]>, index, index) -> ()
    }
    scf.for %j = %c4 to %c8 step %c1 {
      "field.store"(%zero, %g, %j, %i) : (f32, !field.array<f32, [8, 65536]>, index, index) -> ()
      "field.store"(%zero, %h, %t, %j) : (f32, !field.array<f32, [65536, 8]>, index, index) -> ()
    }
    "field.store"(%zero, %x, %t, %i) : (f32, !field.array<f32, [8, 65536]>, index, index) -> ()
    scf.reduce
  }
  %last = "field.load"(%g, %c0, %c0) : (!field.array<f32, [8, 65536]>, index, index) -> f32
  return %last : f32
}

// -----

// Rows of elements that lie among others, or not in order; in blocks that share an axis, whose memory has more
// axes; in sparse blocks, which are looked at by what is active.

// CHECK-NOT: field.left
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "a", element = f32, component_shape = [], adjoint = @a.grad} : () -> ()
  }) {axes = [0, 1], extents = [8, 65536]} : () -> ()
  "snode.dense"() ({
    "snode.place"() {sym_name = "b", element = f32, component_shape = [], adjoint = @b.grad} : () -> ()
  }) {axes = [0, 1], extents = [8, 65536]} : () -> ()
  "snode.dense"() ({
    "snode.place"() {sym_name = "c", element = f32, component_shape = [], adjoint = @c.grad} : () -> ()
  }) {axes = [0, 1], extents = [8, 65536]} : () -> ()
  "snode.dense"() ({
    "snode.place"() {sym_name = "d", element = f32, component_shape = [], adjoint = @d.grad} : () -> ()
  }) {axes = [0, 1], extents = [8, 65536]} : () -> ()
}) {sym_name = "S0"} : () -> ()
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "a.grad", element = f32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "beside", element = f32, component_shape = []} : () -> ()
  }) {axes = [0, 1], extents = [8, 65536]} : () -> ()
  "snode.dense"() ({
    "snode.dense"() ({
      "snode.place"() {sym_name = "b.grad", element = f32, component_shape = []} : () -> ()
    }) {axes = [0], extents = [8]} : () -> ()
  }) {axes = [1], extents = [65536]} : () -> ()
  "snode.dense"() ({
    "snode.dense"() ({
      "snode.place"() {sym_name = "c.grad", element = f32, component_shape = []} : () -> ()
    }) {axes = [0, 1], extents = [4, 65536]} : () -> ()
  }) {axes = [0], extents = [2]} : () -> ()
  "snode.bitmasked"() ({
    "snode.place"() {sym_name = "d.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0, 1], extents = [8, 65536], activity = @active} : () -> ()
}) {sym_name = "S1"} : () -> ()
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "active", element = i8, component_shape = []} : () -> ()
  }) {axes = [0, 1], extents = [8, 65536]} : () -> ()
}) {sym_name = "activities"} : () -> ()

// CHECK-LABEL: func.func @layouts
// CHECK-COUNT-4: field.store
func.func @layouts(%t: index {field.argument = 0}, %by: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 65536 : index
  %a = "field.get"() {field = @a.grad} : () -> !field.array<f32, [8, 65536]>
  %b = "field.get"() {field = @b.grad} : () -> !field.array<f32, [8, 65536]>
  %c = "field.get"() {field = @c.grad} : () -> !field.array<f32, [8, 65536]>
  %d = "field.get"() {field = @d.grad} : () -> !field.array<f32, [8, 65536]>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    "field.store"(%zero, %a, %t, %i) : (f32, !field.array<f32, [8, 65536]>, index, index) -> ()
    "field.store"(%zero, %b, %t, %i) : (f32, !field.array<f32, [8, 65536]>, index, index) -> ()
    "field.store"(%zero, %c, %t, %i) : (f32, !field.array<f32, [8, 65536]>, index, index) -> ()
    "field.store"(%zero, %d, %t, %i) : (f32, !field.array<f32, [8, 65536]>, index, index) -> ()
    scf.reduce
  }
  return
}
