// RUN: mlirad-opt %s --split-input-file --mark-footprints | filecheck %s

// A sum of 16 products: the reverse of tanh needs its result. The index is computed in front.
// CHECK-LABEL: func.func @found
// CHECK: scf.parallel (%[[I:.*]]) =
// CHECK: scf.for
// CHECK: %[[K:.*]] = arith.subi %{{.*}}, %[[I]]
// CHECK-NEXT: %[[T:.*]] = math.tanh
// CHECK-NEXT: field.store %[[T]], %{{.*}}[%[[K]]] {grad.stored}
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "y", element = f32, component_shape = [], adjoint = @y.grad} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "y.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()
func.func @found() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c15 = arith.constant 15 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [16]>
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    %sum = scf.for %j = %c0 to %c16 step %c1 iter_args(%s = %zero) -> (f32) {
      %v = "field.load"(%x, %j) : (!field.array<f32, [16]>, index) -> f32
      %w = arith.mulf %v, %v : f32
      %next = arith.addf %s, %w : f32
      scf.yield %next : f32
    }
    %t = math.tanh %sum : f32
    %k = arith.subi %c15, %i : index
    "field.store"(%t, %y, %k) : (f32, !field.array<f32, [16]>, index) -> ()
    scf.reduce
  }
  return
}

// -----

// All iterations store at one element.
// CHECK-LABEL: func.func @one_element
// CHECK-NOT: grad.stored
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "y", element = f32, component_shape = [], adjoint = @y.grad} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "y.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()
func.func @one_element() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c15 = arith.constant 15 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [16]>
  scf.for %i = %c0 to %c16 step %c1 {
    %sum = scf.for %j = %c0 to %c16 step %c1 iter_args(%s = %zero) -> (f32) {
      %v = "field.load"(%x, %j) : (!field.array<f32, [16]>, index) -> f32
      %w = arith.mulf %v, %v : f32
      %next = arith.addf %s, %w : f32
      scf.yield %next : f32
    }
    %t = math.tanh %sum : f32
    "field.store"(%t, %y, %c0) : (f32, !field.array<f32, [16]>, index) -> ()
  }
  return
}

// -----

// Another store overwrites the element.
// CHECK-LABEL: func.func @overwritten
// CHECK-NOT: grad.stored
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "y", element = f32, component_shape = [], adjoint = @y.grad} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "y.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()
func.func @overwritten() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c15 = arith.constant 15 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [16]>
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    %sum = scf.for %j = %c0 to %c16 step %c1 iter_args(%s = %zero) -> (f32) {
      %v = "field.load"(%x, %j) : (!field.array<f32, [16]>, index) -> f32
      %w = arith.mulf %v, %v : f32
      %next = arith.addf %s, %w : f32
      scf.yield %next : f32
    }
    %t = math.tanh %sum : f32
    "field.store"(%t, %y, %i) : (f32, !field.array<f32, [16]>, index) -> ()
    "field.store"(%zero, %y, %i) : (f32, !field.array<f32, [16]>, index) -> ()
    scf.reduce
  }
  return
}

// -----

// Nothing needs the sum itself.
// CHECK-LABEL: func.func @not_needed
// CHECK-NOT: grad.stored
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "y", element = f32, component_shape = [], adjoint = @y.grad} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "y.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()
func.func @not_needed() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c15 = arith.constant 15 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [16]>
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    %sum = scf.for %j = %c0 to %c16 step %c1 iter_args(%s = %zero) -> (f32) {
      %v = "field.load"(%x, %j) : (!field.array<f32, [16]>, index) -> f32
      %w = arith.mulf %v, %v : f32
      %next = arith.addf %s, %w : f32
      scf.yield %next : f32
    }
    "field.store"(%sum, %y, %i) : (f32, !field.array<f32, [16]>, index) -> ()
    scf.reduce
  }
  return
}
