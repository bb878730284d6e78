// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --differentiate-reverse --canonicalize | filecheck %s
// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --differentiate-reverse --canonicalize --mlir-print-op-generic | mlirad-opt - --split-input-file | filecheck %s

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S"} : () -> ()

// The derivative reads the argument alone, so the value is not computed. Of both results, one has an adjoint.
// CHECK-LABEL: func.func @own_rule
// CHECK: %[[V:.*]] = field.load %[[X:[0-9]+]][%c0]
// CHECK: %[[A:.*]] = field.load %[[D:[0-9]+]][%c1]
// CHECK-NEXT: field.store %{{.*}}, %[[D]][%c1]
// CHECK-NOT: grad.custom
// CHECK-NOT: math.sin
// CHECK-DAG: %[[P:.*]] = arith.mulf %[[A]], %[[V]]
// CHECK-DAG: %[[Z:.*]] = arith.cmpf oeq, %[[A]], %cst
// CHECK: %[[S:.*]] = arith.select %{{.*}}, %cst, %[[P]]
// CHECK-NEXT: field.atomic {{[a-z]+}} %[[S]], %[[D]][%c0]
func.func @own_rule() {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = "field.load"(%x, %c0) : (!field.array<f32, [16]>, index) -> f32
  %r:2 = "grad.custom"(%v) ({
  ^bb0(%a: f32):
    %y = math.sin %a : f32
    "grad.yield"(%y, %a) : (f32, f32) -> ()
  }, {
  ^bb0(%a: f32, %y: f32, %z: f32, %dy: f32, %dz: f32):
    %p = arith.mulf %dy, %a : f32
    %s = arith.addf %p, %dz : f32
    "grad.yield"(%p) : (f32) -> ()
  }, {
  }) {function = "f", operandSegmentSizes = array<i32: 1, 0>} : (f32) -> (f32, f32)
  "field.store"(%r#0, %x, %c1) : (f32, !field.array<f32, [16]>, index) -> ()
  return
}

// -----

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S"} : () -> ()

func.func @no_rule() {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %c0 = arith.constant 0 : index
  %v = "field.load"(%x, %c0) : (!field.array<f32, [16]>, index) -> f32
  // expected-error @+1 {{'f' has a derivative of its own for forward mode (def_jvp), and none for reverse mode}}
  %r = "grad.custom"(%v) ({
  ^bb0(%a: f32):
    "grad.yield"(%a) : (f32) -> ()
  }, {
  }, {
  ^bb0(%a: f32, %r: f32, %t: f32):
    "grad.yield"(%t) : (f32) -> ()
  }) {function = "f", operandSegmentSizes = array<i32: 1, 0>} : (f32) -> f32
  "field.store"(%r, %x, %c0) : (f32, !field.array<f32, [16]>, index) -> ()
  return
}

// -----

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S"} : () -> ()

func.func @neither() {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %c0 = arith.constant 0 : index
  %v = "field.load"(%x, %c0) : (!field.array<f32, [16]>, index) -> f32
  // expected-error @+1 {{'f' is differentiated more often than its derivative was}}
  %r = "grad.custom"(%v) ({
  ^bb0(%a: f32):
    "grad.yield"(%a) : (f32) -> ()
  }, {
  }, {
  }) {function = "f", operandSegmentSizes = array<i32: 1, 0>} : (f32) -> f32
  "field.store"(%r, %x, %c0) : (f32, !field.array<f32, [16]>, index) -> ()
  return
}
