// RUN: mlirad-opt %s --split-input-file --insert-first-updates | filecheck %s
// RUN: mlirad-opt %s --split-input-file --insert-first-updates --insert-first-updates | filecheck %s

// CHECK: field.anew = [@x.grad, 0]
// CHECK-SAME: sym_name = "$anew.x.grad.0"
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0, 1], extents = [256, 512]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// CHECK-LABEL: func.func @all_of_it
// CHECK: %[[WAITS:.*]] = "field.load"(%{{.*}}) : (!field.array<i8, []>) -> i8
// CHECK: %[[ANEW:.*]] = arith.cmpi ne, %[[WAITS]], %{{.*}} : i8
// CHECK: scf.parallel (%[[I:.*]]) =
// CHECK: scf.for %[[J:.*]] =
// CHECK: %[[THERE:.*]] = "field.load"(%[[X:.*]], %[[I]], %[[J]])
// CHECK: %[[OLD:.*]] = arith.select %[[ANEW]], %{{.*}}, %[[THERE]] : f32
// CHECK: %[[SUM:.*]] = arith.addf %[[OLD]], %{{.*}} : f32
// CHECK: "field.store"(%[[SUM]], %[[X]], %[[I]], %[[J]])
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

// -----

// A row of a launch, while others are read and added to more than once; its middle, where the
// condition holds.

// CHECK: field.begun = {{\[\[}}@x.grad, {{\[\[\[}}array<i64: -2, 5, 1>, array<i64: -2, 5, 1>], [array<i64: 1>, array<i64: 65534>]]]]]
// CHECK: field.anew = [@x.grad, 0]
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
  }) {axes = [0, 1], extents = [8, 65536]} : () -> ()
  "snode.dense"() ({
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0, 1], extents = [8, 65536]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// CHECK-LABEL: func.func @row
// CHECK: arith.select
// CHECK: field.store
// CHECK-COUNT-2: field.atomic
// CHECK-NOT: arith.select
func.func @row(%t: i32 {field.argument = 5}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %n = arith.constant 65536 : index
  %last = arith.constant 65535 : index
  %t1 = arith.subi %t, %one : i32
  %t2 = arith.subi %t, %two : i32
  %r0 = arith.index_cast %t : i32 to index
  %r1 = arith.index_cast %t1 : i32 to index
  %r2 = arith.index_cast %t2 : i32 to index
  %g = "field.get"() {field = @x.grad} : () -> !field.array<f32, [8, 65536]>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %0 = "field.load"(%g, %r0, %i) : (!field.array<f32, [8, 65536]>, index, index) -> f32
    %low = arith.cmpi sge, %i, %c1 : index
    %high = arith.cmpi slt, %i, %last : index
    %both = arith.andi %low, %high : i1
    scf.if %both {
      %1 = "field.atomic"(%0, %g, %r2, %i) {kind = "add", field.plain} : (f32, !field.array<f32, [8, 65536]>, index, index) -> f32
    }
    %2 = "field.atomic"(%0, %g, %r1, %i) {kind = "add", field.plain} : (f32, !field.array<f32, [8, 65536]>, index, index) -> f32
    %3 = "field.atomic"(%0, %g, %r1, %i) {kind = "add", field.plain} : (f32, !field.array<f32, [8, 65536]>, index, index) -> f32
    scf.reduce
  }
  return
}

// -----

// Rows that may be the same one.

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
  }) {axes = [0, 1], extents = [8, 65536]} : () -> ()
  "snode.dense"() ({
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0, 1], extents = [8, 65536]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// CHECK-LABEL: func.func @perhaps_one
// CHECK-NOT: arith.select
func.func @perhaps_one(%s: index {field.argument = 0}, %t: index {field.argument = 1}, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 65536 : index
  %g = "field.get"() {field = @x.grad} : () -> !field.array<f32, [8, 65536]>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %0 = "field.atomic"(%v, %g, %s, %i) {kind = "add", field.plain} : (f32, !field.array<f32, [8, 65536]>, index, index) -> f32
    %1 = "field.atomic"(%v, %g, %t, %i) {kind = "add", field.plain} : (f32, !field.array<f32, [8, 65536]>, index, index) -> f32
    scf.reduce
  }
  return
}

// -----

// Rows of elements that lie among others, or not in order; in blocks that share an axis, whose memory has more
// axes; in sparse blocks, which are looked at by what is active.

// CHECK-NOT: field.begun
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
// CHECK-COUNT-4: field.atomic
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
    %0 = "field.atomic"(%by, %a, %t, %i) {kind = "add", field.plain} : (f32, !field.array<f32, [8, 65536]>, index, index) -> f32
    %1 = "field.atomic"(%by, %b, %t, %i) {kind = "add", field.plain} : (f32, !field.array<f32, [8, 65536]>, index, index) -> f32
    %2 = "field.atomic"(%by, %c, %t, %i) {kind = "add", field.plain} : (f32, !field.array<f32, [8, 65536]>, index, index) -> f32
    %3 = "field.atomic"(%by, %d, %t, %i) {kind = "add", field.plain} : (f32, !field.array<f32, [8, 65536]>, index, index) -> f32
    scf.reduce
  }
  return
}

// -----

// An index that goes around reaches each element once, if it goes all the way.

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
  }) {axes = [0, 1], extents = [8, 65536]} : () -> ()
  "snode.dense"() ({
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0, 1], extents = [8, 65536]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// CHECK-LABEL: func.func @around
// CHECK: arith.select
// CHECK-NOT: field.atomic
func.func @around(%r: index {field.argument = 0}, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 65536 : index
  %over = arith.constant 65537 : i32
  %word = arith.constant 65536 : i32
  %g = "field.get"() {field = @x.grad} : () -> !field.array<f32, [8, 65536]>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %0 = arith.index_cast %i : index to i32
    %1 = arith.addi %0, %over : i32
    %2 = arith.floordivsi %1, %word : i32
    %3 = arith.muli %2, %word : i32
    %4 = arith.subi %1, %3 : i32
    %5 = arith.index_cast %4 : i32 to index
    %6 = "field.atomic"(%v, %g, %r, %5) {kind = "add", field.plain} : (f32, !field.array<f32, [8, 65536]>, index, index) -> f32
    scf.reduce
  }
  return
}

// -----

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
  }) {axes = [0, 1], extents = [8, 65536]} : () -> ()
  "snode.dense"() ({
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0, 1], extents = [8, 65536]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// CHECK-LABEL: func.func @part_of_the_way
// CHECK-NOT: arith.select
// CHECK: field.atomic
func.func @part_of_the_way(%r: index {field.argument = 0}, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 65535 : index
  %over = arith.constant 65537 : index
  %all = arith.constant 65536 : index
  %g = "field.get"() {field = @x.grad} : () -> !field.array<f32, [8, 65536]>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %1 = arith.addi %i, %over : index
    %2 = arith.floordivsi %1, %all : index
    %3 = arith.muli %2, %all : index
    %4 = arith.subi %1, %3 : index
    %5 = "field.atomic"(%v, %g, %r, %4) {kind = "add", field.plain} : (f32, !field.array<f32, [8, 65536]>, index, index) -> f32
    scf.reduce
  }
  return
}
