// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --differentiate-reverse --lower-field-to-memref

"snode.root"() ({
  "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
  "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
}) {sym_name = "S0"} : () -> ()
func.func @product(%v: f32) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, []>
  // expected-error @below {{the reverse of atomic_mul needs what it overwrites: run check-access-rules first}}
  %old = "field.atomic"(%v, %x) {kind = "mul"} : (f32, !field.array<f32, []>) -> f32
  return
}

// -----

func.func private @declared(f32)
func.func private @calls(%v: f32) {
  // expected-error @below {{a call, expected only those of private functions with a body by public ones: run inline first}}
  call @declared(%v) : (f32) -> ()
  return
}

// -----

// expected-error @below {{!field.array<f32, [4.000000e+00]> is not an array type}}
func.func @type(%x: !field.array<f32, [4.0]>) {
  return
}

// -----

func.func @directions(%x: f32) {
  // expected-error @below {{operands of types (f32, f32), expected 100000000001 times (f32)}}
  %y, %dy = "grad.jvp"(%x, %x) ({
  ^bb0(%v: f32):
    "grad.yield"(%v) : (f32) -> ()
  }) {directions = 100000000000} : (f32, f32) -> (f32, f32)
  return
}
