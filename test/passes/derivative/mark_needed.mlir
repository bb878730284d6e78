// RUN: mlirad-opt %s --mark-needed=report=true --verify-diagnostics | filecheck %s
// RUN: mlirad-opt %s --mark-needed=report=true --verify-diagnostics --mlir-print-op-generic | mlirad-opt - | filecheck %s

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "y", element = f32, component_shape = [], adjoint = @y.grad} : () -> ()
    "snode.place"() {sym_name = "z", element = f32, component_shape = [], adjoint = @z.grad} : () -> ()
    "snode.place"() {sym_name = "z.grad", element = f32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "k", element = i32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "y.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// CHECK-LABEL: func.func @operand_of_a_product(
// CHECK: field.load %{{.*}} {grad.needed = "an operand of arith.mulf at {{.*}}:8"}
func.func @operand_of_a_product(%i: index) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [16]>
  // expected-remark @+1 {{the gradient reads 'x' here again: an operand of arith.mulf at}}
  %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
  %w = arith.mulf %v, %v : f32
  "field.store"(%w, %y, %i) : (f32, !field.array<f32, [16]>, index) -> ()
  return
}

// CHECK-LABEL: func.func @index(
// CHECK: field.load %{{.*}} {grad.needed = "an index at {{.*}}:8"}
// CHECK-NOT: grad.needed
func.func @index(%i: index) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [16]>
  %k = "field.get"() {field = @k} : () -> !field.array<i32, [16]>
  // expected-remark @+1 {{the gradient reads 'k' here again: an index at}}
  %n = "field.load"(%k, %i) : (!field.array<i32, [16]>, index) -> i32
  %j = arith.index_cast %n : i32 to index
  %v = "field.load"(%x, %j) : (!field.array<f32, [16]>, index) -> f32
  %w = arith.addf %v, %v : f32
  "field.store"(%w, %y, %i) : (f32, !field.array<f32, [16]>, index) -> ()
  return
}

// Writes to x are done again for what reads x behind them: the first one for the square, the last
// one for nothing, so that what it stores is not needed.

// CHECK-LABEL: func.func @writes_done_again(
// CHECK: field.load %{{.*}} {grad.needed = "an operand of math.sin at
// CHECK: field.load %{{.*}} {grad.needed = "its writes are done again
// CHECK: field.load %{{.*}} {grad.needed = "an operand of arith.mulf at
// CHECK-NOT: grad.needed
func.func @writes_done_again() attributes {grad.redone = [@x]} {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [16]>
  %z = "field.get"() {field = @z} : () -> !field.array<f32, [16]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    // expected-remark @+1 {{the gradient reads 'x' here again: an operand of math.sin at}}
    %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
    %s = math.sin %v : f32
    "field.store"(%s, %y, %i) : (f32, !field.array<f32, [16]>, index) -> ()
    // expected-remark @+1 {{the gradient reads 'z' here again: its writes are done again}}
    %k = "field.load"(%z, %i) : (!field.array<f32, [16]>, index) -> f32
    "field.store"(%k, %x, %i) : (f32, !field.array<f32, [16]>, index) -> ()
    // expected-remark @+1 {{the gradient reads 'x' here again: an operand of arith.mulf at}}
    %w = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
    %q = arith.mulf %w, %w : f32
    "field.store"(%q, %y, %i) : (f32, !field.array<f32, [16]>, index) -> ()
    %l = "field.load"(%z, %i) : (!field.array<f32, [16]>, index) -> f32
    "field.store"(%l, %x, %i) : (f32, !field.array<f32, [16]>, index) -> ()
  }
  return
}
