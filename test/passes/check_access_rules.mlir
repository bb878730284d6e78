// RUN: mlirad-opt %s --check-access-rules --split-input-file --verify-diagnostics | filecheck %s

"snode.root"() ({
  "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
  "snode.place"() {sym_name = "y", element = f32, component_shape = [], adjoint = @y.grad} : () -> ()
  "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
  "snode.place"() {sym_name = "y.grad", element = f32, component_shape = []} : () -> ()
}) {sym_name = "S0"} : () -> ()

// CHECK-LABEL: func.func @overwritten_but_not_needed
func.func @overwritten_but_not_needed() {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, []>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, []>
  %v = "field.load"(%x) : (!field.array<f32, []>) -> f32
  %w = arith.addf %v, %v : f32
  "field.store"(%w, %x) : (f32, !field.array<f32, []>) -> ()
  return
}

// CHECK-LABEL: func.func @needed_and_kept
func.func @needed_and_kept() {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, []>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, []>
  %v = "field.load"(%x) : (!field.array<f32, []>) -> f32
  %w = math.sin %v : f32
  "field.store"(%w, %y) : (f32, !field.array<f32, []>) -> ()
  return
}

// -----

"snode.root"() ({
  "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
  "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
}) {sym_name = "S0"} : () -> ()

func.func @needed_and_overwritten() {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, []>
  // expected-error @+1 {{the gradient needs the value of 'x' that is read here, but the same kernel overwrites it}}
  %v = "field.load"(%x) : (!field.array<f32, []>) -> f32
  %w = math.sin %v : f32
  "field.store"(%w, %x) : (f32, !field.array<f32, []>) -> ()
  return
}
