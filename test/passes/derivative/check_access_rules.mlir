// RUN: mlirad-opt %s --check-access-rules --split-input-file --verify-diagnostics | filecheck %s
// RUN: mlirad-opt %s --check-access-rules --check-access-rules --split-input-file --verify-diagnostics | filecheck %s

"snode.root"() ({
  "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
  "snode.place"() {sym_name = "y", element = f32, component_shape = [], adjoint = @y.grad} : () -> ()
  "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
  "snode.place"() {sym_name = "y.grad", element = f32, component_shape = []} : () -> ()
}) {sym_name = "S0"} : () -> ()

// CHECK-LABEL: func.func @overwritten_but_not_needed()
// CHECK-NOT: grad.redone
func.func @overwritten_but_not_needed() {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, []>
  %v = "field.load"(%x) : (!field.array<f32, []>) -> f32
  %w = arith.addf %v, %v : f32
  "field.store"(%w, %x) : (f32, !field.array<f32, []>) -> ()
  return
}

// CHECK-LABEL: func.func @needed_and_kept()
// CHECK-NOT: grad.redone
func.func @needed_and_kept() {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, []>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, []>
  %v = "field.load"(%x) : (!field.array<f32, []>) -> f32
  %w = math.sin %v : f32
  "field.store"(%w, %y) : (f32, !field.array<f32, []>) -> ()
  return
}

// CHECK-LABEL: func.func @needed_and_overwritten()
// CHECK-SAME: grad.redone = [@x]
// CHECK-SAME: 'x', read at {{.*}}:37:8 and needed by the gradient, is overwritten at {{.*}}:39:3
func.func @needed_and_overwritten() {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, []>
  %v = "field.load"(%x) : (!field.array<f32, []>) -> f32
  %w = math.sin %v : f32
  "field.store"(%w, %x) : (f32, !field.array<f32, []>) -> ()
  return
}

// -----

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()

func.func @overwritten_by_another_iteration() {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c15 = arith.constant 15 : index
  scf.parallel (%i) = (%c0) to (%c15) step (%c1) {
    %j = arith.addi %i, %c1 : index
    // expected-error @+1 {{which is written by another iteration of the same parallel loop}}
    %v = "field.load"(%x, %j) : (!field.array<f32, [16]>, index) -> f32
    %w = math.sin %v : f32
    "field.store"(%w, %x, %i) : (f32, !field.array<f32, [16]>, index) -> ()
  }
  return
}
