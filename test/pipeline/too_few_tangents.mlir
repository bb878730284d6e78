// RUN: mlirad-opt %s --verify-diagnostics --differentiate-forward=tangents=3

"snode.root"() ({
  "snode.place"() {sym_name = "x", element = f32, component_shape = [], duals = [@x.dual]} : () -> ()
  "snode.place"() {sym_name = "x.dual", element = f32, component_shape = []} : () -> ()
}) {sym_name = "S0"} : () -> ()
func.func @twice(%v: f32) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, []>
  // expected-error @below {{field 'x' has 1 tangents, expected 3}}
  "field.store"(%v, %x) : (f32, !field.array<f32, []>) -> ()
  return
}
