// RUN: not mlirad-opt %s --check-access-rules=rules=refuse 2>&1 | filecheck %s

"snode.root"() ({
  "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
  "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
}) {sym_name = "S0"} : () -> ()

// CHECK: {{.*}}pass_refuses.mlir:16:8: error: the gradient needs the value of 'x'
// CHECK-NEXT: %v = "field.load"
// CHECK-NEXT: {{^ *\^}}
// CHECK-NEXT: {{.*}}pass_refuses.mlir:18:3: the other access
// CHECK-NEXT: "field.store"
func.func @f() {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, []>

  %v = "field.load"(%x) : (!field.array<f32, []>) -> f32
  %w = math.sin %v : f32
  "field.store"(%w, %x) : (f32, !field.array<f32, []>) -> ()
  return
}
