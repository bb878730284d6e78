// RUN: mlirad-opt %s --differentiate-reverse=stored=true --canonicalize --cse | filecheck %s --check-prefix=STORED
// RUN: mlirad-opt %s --differentiate-reverse --canonicalize --cse | filecheck %s --check-prefix=AGAIN

// With `stored`, the value is loaded, and the loop that computes it does not run again.
// STORED: %[[Y:.*]] = field.get @y :
// STORED: scf.parallel (%[[I:.*]]) =
// STORED: field.load %[[Y]][%[[I]]]
// STORED-NOT: math.tanh
// STORED-COUNT-1: scf.for
// STORED-NOT: scf.for
// AGAIN: scf.for
// AGAIN: math.tanh
// AGAIN: scf.for
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
    "field.store"(%t, %y, %i) {grad.stored} : (f32, !field.array<f32, [16]>, index) -> ()
    scf.reduce
  }
  return
}
