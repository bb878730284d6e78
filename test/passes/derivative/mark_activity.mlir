// RUN: mlirad-opt %s --mark-activity=report=true --verify-diagnostics | filecheck %s
// RUN: mlirad-opt %s --mark-activity=report=true --verify-diagnostics --mlir-print-op-generic | mlirad-opt - | filecheck %s

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "y", element = f32, component_shape = [], adjoint = @y.grad} : () -> ()
    "snode.place"() {sym_name = "k", element = i32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "y.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// CHECK-LABEL: func.func @chain(
// CHECK: field.load %{{.*}} {grad.active}
// CHECK: math.sin %{{.*}} {grad.active}
// CHECK-NEXT: field.store %{{.*}} {grad.active}
// CHECK: field.load %{{.*}} : i32
func.func @chain(%i: index) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [16]>
  %k = "field.get"() {field = @k} : () -> !field.array<i32, [16]>
  // expected-remark @+1 {{'x' is active here: its derivative reaches the outputs}}
  %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
  %w = math.sin %v : f32
  "field.store"(%w, %y, %i) : (f32, !field.array<f32, [16]>, index) -> ()
  %n = "field.load"(%k, %i) : (!field.array<i32, [16]>, index) -> i32
  "field.store"(%n, %k, %i) : (i32, !field.array<i32, [16]>, index) -> ()
  return
}

// CHECK-LABEL: func.func @stopped(
// CHECK-NOT: grad.active
// CHECK: return
func.func @stopped(%i: index) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [16]>
  // expected-remark @+1 {{'x' is not active here: ti.stop_grad cuts its derivative}}
  %v = "field.load"(%x, %i) {grad.stop} : (!field.array<f32, [16]>, index) -> f32
  "field.store"(%v, %y, %i) : (f32, !field.array<f32, [16]>, index) -> ()
  return
}

// CHECK-LABEL: func.func @of_several_results(
// CHECK: scf.for
// CHECK: } {grad.active = array<i64: 1>}
func.func @of_several_results(%i: index, %from: index, %to: index, %step: index) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %one = arith.constant 1.0 : f32
  // expected-remark @+1 {{'x' is active here}}
  %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
  %r:2 = scf.for %j = %from to %to step %step iter_args(%a = %one, %b = %v) -> (f32, f32) {
    %c = arith.mulf %b, %v : f32
    scf.yield %a, %c : f32, f32
  }
  %s = arith.addf %r#0, %r#1 : f32
  "field.store"(%r#1, %x, %i) : (f32, !field.array<f32, [16]>, index) -> ()
  return
}
