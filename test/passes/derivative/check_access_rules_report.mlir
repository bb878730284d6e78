// RUN: mlirad-opt %s --check-access-rules=report=true --verify-diagnostics | filecheck %s
// RUN: mlirad-opt %s --check-access-rules=report=true --verify-diagnostics --mlir-print-op-generic | mlirad-opt - | filecheck %s

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "y", element = f32, component_shape = [], adjoint = @y.grad} : () -> ()
    "snode.place"() {sym_name = "k", element = i32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "y.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// CHECK-LABEL: func.func @verdicts(
// CHECK-SAME: grad.redone = [@x]
// CHECK-NOT: grad.remarks
func.func @verdicts(%i: index) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [16]>
  %k = "field.get"() {field = @k} : () -> !field.array<i32, [16]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-remark @+1 {{the gradient reads 'k' here again: safe, the kernel does not write it}}
  %n = "field.load"(%k, %i) : (!field.array<i32, [16]>, index) -> i32
  %j = arith.index_cast %n : i32 to index
  // expected-remark @+1 {{the gradient reads 'x' here again: redone, it is overwritten at}}
  %v = "field.load"(%x, %j) : (!field.array<f32, [16]>, index) -> f32
  %w = math.sin %v : f32
  "field.store"(%w, %x, %j) : (f32, !field.array<f32, [16]>, index) -> ()
  // expected-remark @+1 {{the gradient reads 'y' here again: safe, no later write at}}
  %a = "field.load"(%y, %c0) : (!field.array<f32, [16]>, index) -> f32
  %b = arith.mulf %a, %a : f32
  "field.store"(%b, %y, %c1) : (f32, !field.array<f32, [16]>, index) -> ()
  return
}
