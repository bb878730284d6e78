// RUN: mlirad-opt %s --differentiate-reverse | filecheck %s --check-prefix=ONCE
// RUN: mlirad-opt %s --differentiate-reverse=again=true | filecheck %s --check-prefix=AGAIN

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// Where the derivative may be infinite, an adjoint of 0 stays 0. Its own derivative is not 0: only NaN becomes 0 then.
// ONCE: %[[ZERO:.*]] = arith.cmpf oeq
// ONCE: %[[D:.*]] = arith.divf
// ONCE: arith.select %[[ZERO]], %{{.*}}, %[[D]]
// AGAIN: %[[D:.*]] = arith.divf
// AGAIN: %[[NAN:.*]] = arith.cmpf uno, %[[D]], %[[D]]
// AGAIN: %[[ZERO:.*]] = arith.cmpf oeq
// AGAIN: %[[BOTH:.*]] = arith.andi %[[NAN]], %[[ZERO]]
// AGAIN: arith.select %[[BOTH]], %{{.*}}, %[[D]]
func.func @logarithm(%i: index) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
  %w = math.log %v : f32
  "field.store"(%w, %x, %i) : (f32, !field.array<f32, [16]>, index) -> ()
  return
}
