// RUN: mlirad-opt %s --differentiate-reverse=again=true --split-input-file --verify-diagnostics | filecheck %s

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "y", element = f32, component_shape = [], adjoint = @y.grad} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "y.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// The stack is filled again, and has one of adjoints beside it: 0 at first, added to by what was popped, passed on to what was pushed.
// CHECK-LABEL: func.func @stack_of_a_reverse
// CHECK: %[[S:.*]] = grad.alloc %arg1 :
// CHECK: scf.for
// CHECK: grad.push %{{.*}}, %[[S]][
// CHECK: %[[D:.*]] = grad.alloc %arg1 :
// CHECK: scf.for
// CHECK: %[[ZERO:.*]] = arith.constant 0.000000e+00
// CHECK: grad.push %[[ZERO]], %[[D]][
// CHECK: scf.for
// CHECK: grad.pop %[[S]][%[[K:.*]]]
// CHECK: %[[OLD:.*]] = grad.pop %[[D]][%[[K]]]
// CHECK: %[[NEW:.*]] = arith.addf %[[OLD]],
// CHECK: grad.push %[[NEW]], %[[D]][%[[K]]]
// CHECK: scf.for
// CHECK: %[[BACK:.*]] = grad.pop %[[D]][
// CHECK: arith.addf %{{.*}}, %[[BACK]]
// CHECK: grad.free %[[S]]
// CHECK: grad.free %[[D]]
func.func @stack_of_a_reverse(%i: index, %n: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [16]>
  %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
  %s = "grad.alloc"(%n) : (index) -> !grad.stack<f32>
  %last = scf.for %k = %zero to %n step %one iter_args(%a = %v) -> (f32) {
    "grad.push"(%a, %s, %k) : (f32, !grad.stack<f32>, index) -> ()
    %b = math.sin %a : f32
    scf.yield %b : f32
  }
  %sum = scf.for %k = %zero to %n step %one iter_args(%a = %v) -> (f32) {
    %p = "grad.pop"(%s, %k) : (!grad.stack<f32>, index) -> f32
    %b = arith.mulf %a, %p : f32
    scf.yield %b : f32
  }
  "grad.free"(%s) : (!grad.stack<f32>) -> ()
  "field.store"(%sum, %y, %i) : (f32, !field.array<f32, [16]>, index) -> ()
  return
}

// -----

func.func @stack_of_somebody_else(%s: !grad.stack<f32>, %i: index) {
  // expected-error @below {{a stack that no 'grad.alloc' of this function makes}}
  %p = "grad.pop"(%s, %i) : (!grad.stack<f32>, index) -> f32
  return
}

// -----

func.func @slots_that_are_written_again(%v: f32, %i: index) {
  %s = "grad.alloc"(%i) : (index) -> !grad.stack<f32>
  %p = "grad.pop"(%s, %i) : (!grad.stack<f32>, index) -> f32
  // expected-error @below {{a stack is written to that was read: its reverse has no reverse itself}}
  "grad.push"(%p, %s, %i) : (f32, !grad.stack<f32>, index) -> ()
  return
}

// -----

func.func @freed_elsewhere(%c: i1, %i: index) {
  %s = "grad.alloc"(%i) : (index) -> !grad.stack<f32>
  scf.if %c {
    // expected-error @below {{a stack is freed in another block than it is made in}}
    "grad.free"(%s) : (!grad.stack<f32>) -> ()
  }
  return
}

// -----

func.func @log() {
  // expected-error @below {{this reverse puts memory back by a log, and has no reverse itself}}
  %l = "grad.open"() : () -> !grad.log<f32, 1 : i64>
  return
}
