// RUN: mlirad-opt %s --check-races --split-input-file --verify-diagnostics | filecheck %s
// RUN: mlirad-opt %s --check-races --check-races --split-input-file --verify-diagnostics | filecheck %s

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "y", element = f32, component_shape = [], adjoint = @y.grad} : () -> ()
    "snode.place"() {sym_name = "k", element = i32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "y.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// CHECK-LABEL: func.func @own_elements_sums_and_serial_loops(
func.func @own_elements_sums_and_serial_loops(%n: index) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [16]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c14 = arith.constant 14 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
    "field.store"(%v, %x, %i) : (f32, !field.array<f32, [16]>, index) -> ()
    %o = "field.atomic"(%v, %y, %c0) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    scf.reduce
  }
  scf.for %i = %c0 to %c14 step %c1 {
    %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
    %j = arith.addi %i, %c1 : index
    "field.store"(%v, %x, %j) : (f32, !field.array<f32, [16]>, index) -> ()
  }
  return
}

// CHECK-LABEL: func.func @exchanges_of_own_elements(
func.func @exchanges_of_own_elements(%n: index, %v: f32) {
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [16]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %o = "field.atomic"(%v, %y, %i) {kind = "exchange"} : (f32, !field.array<f32, [16]>, index) -> f32
    scf.reduce
  }
  return
}

// CHECK-LABEL: func.func @further_apart_than_the_loop_is_long(
func.func @further_apart_than_the_loop_is_long() {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
    %j = arith.addi %i, %c8 : index
    "field.store"(%v, %x, %j) : (f32, !field.array<f32, [16]>, index) -> ()
    scf.reduce
  }
  return
}

// CHECK-LABEL: func.func @conditions_that_exclude_one_another(
func.func @conditions_that_exclude_one_another(%n: index) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %half = arith.floordivsi %i, %c2 : index
    %whole = arith.muli %half, %c2 : index
    %rest = arith.subi %i, %whole : index
    %odd = arith.cmpi eq, %rest, %c1 : index
    scf.if %odd {
      %j = arith.addi %i, %c1 : index
      %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
      "field.store"(%v, %x, %j) : (f32, !field.array<f32, [16]>, index) -> ()
    }
    scf.reduce
  }
  return
}

// CHECK-LABEL: func.func @a_condition_of_one_iteration(
func.func @a_condition_of_one_iteration(%n: index, %chosen: index) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [16]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %one = arith.cmpi eq, %i, %chosen : index
    scf.if %one {
      %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
      "field.store"(%v, %y, %c0) : (f32, !field.array<f32, [16]>, index) -> ()
    }
    scf.reduce
  }
  return
}

// CHECK-LABEL: func.func @no_derivative_in_it(
func.func @no_derivative_in_it(%n: index, %m: i32) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %k = "field.get"() {field = @k} : () -> !field.array<i32, [16]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    "field.store"(%zero, %x, %c0) : (f32, !field.array<f32, [16]>, index) -> ()
    "field.store"(%m, %k, %c0) : (i32, !field.array<i32, [16]>, index) -> ()
    scf.reduce
  }
  return
}

// -----

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "y", element = f32, component_shape = [], adjoint = @y.grad} : () -> ()
    "snode.place"() {sym_name = "k", element = i32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "y.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()

func.func @feed_one_another(%n: index) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    // expected-error @+1 {{'x' is read here and written by another iteration of the same parallel loop, so its gradient is not defined: put ti.loop_config(serialize=True) before the loop}}
    %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
    %j = arith.addi %i, %c1 : index
    "field.store"(%v, %x, %j) : (f32, !field.array<f32, [16]>, index) -> ()
    scf.reduce
  }
  return
}

// -----

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "y", element = f32, component_shape = [], adjoint = @y.grad} : () -> ()
    "snode.place"() {sym_name = "k", element = i32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "y.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()

func.func @write_one_cell(%n: index) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [16]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
    // expected-error @+1 {{'y' is written here without an atomic, and by another iteration of the same parallel loop as well}}
    "field.store"(%v, %y, %c0) : (f32, !field.array<f32, [16]>, index) -> ()
    scf.reduce
  }
  return
}

// -----

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "y", element = f32, component_shape = [], adjoint = @y.grad} : () -> ()
    "snode.place"() {sym_name = "k", element = i32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "y.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()

func.func @may_feed_one_another(%n: index, %test: i1) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    scf.if %test {
      // expected-error @+1 {{'x' is read here and may be written by another iteration of the same parallel loop, so its gradient is not defined: put ti.loop_config(serialize=True) before the loop}}
      %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
      %j = arith.addi %i, %c1 : index
      "field.store"(%v, %x, %j) : (f32, !field.array<f32, [16]>, index) -> ()
    }
    scf.reduce
  }
  return
}

// -----

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "y", element = f32, component_shape = [], adjoint = @y.grad} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "y.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()

func.func @one_element_is_exchanged(%n: index) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [16]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
    // expected-error @+1 {{'y' is replaced here, and by another iteration of the same parallel loop as well}}
    %o = "field.atomic"(%v, %y, %c0) {kind = "exchange"} : (f32, !field.array<f32, [16]>, index) -> f32
    scf.reduce
  }
  return
}
