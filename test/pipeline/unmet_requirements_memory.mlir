// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --differentiate-reverse --lower-field-to-memref

"snode.root"() ({
  "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
  "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
}) {sym_name = "S0"} : () -> ()
func.func @product(%v: f32) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, []>
  // expected-error @below {{the reverse of atomic_mul needs the values that it overwrites: run check-access-rules first}}
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
  %y, %dy = "grad.dual"(%x, %x) ({
  ^bb0(%v: f32):
    "grad.yield"(%v) : (f32) -> ()
  }) {directions = 100000000000} : (f32, f32) -> (f32, f32)
  return
}

// -----

func.func @local(%x: !field.array<f32, [8]> {field.needs_grad}, %y: !field.array<f32, [8]> {field.needs_grad}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    // expected-error @below {{a local array in a parallel loop, whose iterations would share its derivative}}
    %a = "field.alloca"() : () -> !field.array<f32, []>
    %v = "field.load"(%x, %i) : (!field.array<f32, [8]>, index) -> f32
    "field.store"(%v, %a) : (f32, !field.array<f32, []>) -> ()
    %w = "field.load"(%a) : (!field.array<f32, []>) -> f32
    "field.store"(%w, %y, %i) : (f32, !field.array<f32, [8]>, index) -> ()
    scf.reduce
  }
  return
}
