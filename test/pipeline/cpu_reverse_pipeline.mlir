// RUN: mlirad-opt %s --cpu-reverse-pipeline | filecheck %s

"snode.root"() ({
  "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
  "snode.place"() {sym_name = "y", element = f32, component_shape = [], adjoint = @y.grad} : () -> ()
  "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
  "snode.place"() {sym_name = "y.grad", element = f32, component_shape = []} : () -> ()
}) {sym_name = "S0"} : () -> ()

// CHECK-LABEL: llvm.func internal @sine(
// CHECK-SAME: field.symbol = @x.grad
// CHECK: llvm.intr.cos
func.func @sine() {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, []>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, []>
  %v = "field.load"(%x) : (!field.array<f32, []>) -> f32
  %w = math.sin %v : f32
  "field.store"(%w, %y) : (f32, !field.array<f32, []>) -> ()
  return
}
