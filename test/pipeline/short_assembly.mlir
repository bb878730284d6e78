// RUN: mlirad-opt %s --mlir-print-op-generic --mlir-print-debuginfo | filecheck %s
// RUN: mlirad-run %s 2.0 --entry=square | filecheck %s --check-prefix=VALUE

// Short forms are read by every tool; locations name the place in the file.

// CHECK: "snode.root"() ({
// CHECK-NEXT: "snode.place"() {adjoint = @x.grad, component_shape = [], element = f32, sym_name = "x"} : () -> ()
// CHECK: "field.get"() {field = @x} : () -> !field.array<f32, []> loc([[GET:#.*]])
// CHECK: "field.atomic"({{.*}}, {{.*}}) {kind = "max"} : (f32, !field.array<f32, []>) -> f32 loc([[MAX:#.*]])
// CHECK: [[GET]] = loc("{{.*}}short_assembly.mlir":19:8)
// CHECK: [[MAX]] = loc("{{.*}}short_assembly.mlir":20:8)
// VALUE: 4

snode.root @S {
  snode.place @x : f32 adjoint(@x.grad)
  snode.place @x.grad : f32
}
func.func private @greatest(%v: f32) {
  %x = field.get @x : !field.array<f32, []>
  %o = field.atomic max %v, %x[]
  return
}
func.func @square(%x: f32) -> f32 {
  %y = arith.mulf %x, %x : f32
  return %y : f32
}
