// RUN: mlirad-opt %s --differentiate-reverse --canonicalize --cse --split-input-file --verify-diagnostics | filecheck %s
// RUN: mlirad-opt %s --differentiate-reverse --canonicalize --cse --split-input-file --verify-diagnostics --mlir-print-op-generic | mlirad-opt - --split-input-file | filecheck %s

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "y", element = f32, component_shape = [], adjoint = @y.grad} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "y.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// CHECK-LABEL: func.func @overwritten_adjoint_is_cleared
// CHECK: %[[DX:.*]] = field.get @x.grad :
// CHECK: %[[DY:.*]] = field.get @y.grad :
// CHECK: %[[X:.*]] = field.load
// CHECK: %[[D:.*]] = field.load %[[DY]][%arg0]
// CHECK-NEXT: field.store %{{.*}}, %[[DY]][%arg0]
// CHECK: %[[PART:.*]] = arith.mulf %[[D]], %[[X]]
// CHECK: %[[BOTH:.*]] = arith.addf %[[PART]], %[[PART]]
// CHECK-NEXT: field.atomic add %[[BOTH]], %[[DX]][%arg0]
func.func @overwritten_adjoint_is_cleared(%i: index) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [16]>
  %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
  %w = arith.mulf %v, %v : f32
  "field.store"(%w, %y, %i) : (f32, !field.array<f32, [16]>, index) -> ()
  return
}

// CHECK-LABEL: func.func @sum_keeps_its_adjoint
// CHECK: %[[D:.*]] = field.load
// CHECK-NOT: field.store
// CHECK: field.atomic {{[a-z]+}} %[[D]],
func.func @sum_keeps_its_adjoint(%i: index) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [16]>
  %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
  %o = "field.atomic"(%v, %y, %i) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
  return
}

// CHECK-LABEL: func.func @exchange_passes_its_adjoint_on
// CHECK: %[[OLD:.*]] = field.load %[[DX:.*]][%arg0]
// CHECK: %[[NEW:.*]] = field.load %[[DY:.*]][%arg0]
// CHECK-NEXT: field.store %{{.*}}, %[[DY]][%arg0]
// CHECK-NEXT: field.atomic add %[[OLD]], %[[DY]][%arg0]
// CHECK-NEXT: field.atomic add %[[NEW]], %[[DX]][%arg0]
func.func @exchange_passes_its_adjoint_on(%i: index) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [16]>
  %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
  %o = "field.atomic"(%v, %y, %i) {kind = "exchange"} : (f32, !field.array<f32, [16]>, index) -> f32
  "field.store"(%o, %x, %i) : (f32, !field.array<f32, [16]>, index) -> ()
  return
}

// CHECK-LABEL: func.func @branch
// CHECK: scf.if %arg1
// CHECK: %[[D:.*]] = field.load
// CHECK-NEXT: field.store
// CHECK-NEXT: field.atomic {{[a-z]+}} %[[D]],
func.func @branch(%i: index, %p: i1) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [16]>
  scf.if %p {
    %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
    "field.store"(%v, %y, %i) : (f32, !field.array<f32, [16]>, index) -> ()
  }
  return
}

// CHECK-LABEL: func.func @history_of_a_loop
// CHECK: %[[S:.*]] = grad.alloc
// CHECK-NEXT: scf.for
// CHECK-NEXT: grad.push %{{.*}}, %[[S]][
// CHECK: %[[D:.*]] = scf.for
// CHECK: %[[A:.*]] = grad.pop %[[S]][
// CHECK: %[[RATE:.*]] = math.cos %[[A]]
// CHECK: arith.mulf %{{.*}}, %[[RATE]]
// CHECK: grad.free %[[S]]
// CHECK-NEXT: field.atomic {{[a-z]+}} %[[D]],
func.func @history_of_a_loop(%i: index, %n: index) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [16]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
  %w = scf.for %k = %c0 to %n step %c1 iter_args(%a = %v) -> f32 {
    %b = math.sin %a : f32
    scf.yield %b : f32
  }
  "field.store"(%w, %y, %i) : (f32, !field.array<f32, [16]>, index) -> ()
  return
}

// CHECK-LABEL: func.func @ndarray_gets_an_adjoint_argument
// CHECK-SAME: %arg2: !field.array<f32, [-1]> {field.adjoint})
// CHECK: field.atomic {{[a-z]+}} %{{.*}}, %arg2[%arg1]
func.func @ndarray_gets_an_adjoint_argument(%x: !field.array<f32, [-1]> {field.needs_grad}, %i: index) {
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [16]>
  %v = "field.load"(%x, %i) : (!field.array<f32, [-1]>, index) -> f32
  "field.store"(%v, %y, %i) : (f32, !field.array<f32, [16]>, index) -> ()
  return
}

// -----

"snode.root"() ({
  "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
  "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
}) {sym_name = "S0"} : () -> ()

func.func @no_rule() {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, []>
  %v = "field.load"(%x) : (!field.array<f32, []>) -> f32
  // expected-error @+1 {{no derivative rule for 'math.clampf'}}
  %w = math.clampf %v to [%v, %v] : f32
  "field.store"(%w, %x) : (f32, !field.array<f32, []>) -> ()
  return
}
