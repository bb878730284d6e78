// RUN: mlirad-opt %s --split-input-file --verify-diagnostics | filecheck %s
// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --mlir-print-op-generic | mlirad-opt - --split-input-file | filecheck %s

// CHECK-LABEL: func.func @caller
// CHECK: %{{.*}}:3 = grad.jvp @f(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {active = [0, 2]} :
func.func private @f(%x: f64, %n: index, %a: memref<4xf64>) -> (vector<2xf32>, i32)
func.func @caller(%x: f64, %n: index, %a: memref<4xf64>, %da: memref<4xf64>) {
  %along = "grad.jvp"() {active = [0, 2], callee = @f} : () -> ((f64, index, memref<4xf64>, f64, memref<4xf64>) -> (vector<2xf32>, i32, vector<2xf32>))
  %w, %c, %dw = func.call_indirect %along(%x, %n, %a, %x, %da) : (f64, index, memref<4xf64>, f64, memref<4xf64>) -> (vector<2xf32>, i32, vector<2xf32>)
  return
}

// -----

// CHECK-LABEL: func.func @spelled
// CHECK: %[[r:.*]]:2 = grad.jvp @f(%{{.*}}, %{{.*}}) {active = [0]} : (f64, f64) -> (f64, f64)
// CHECK: return %[[r]]#0, %[[r]]#1
func.func private @f(%x: f64) -> f64
func.func @spelled(%x: f64, %dx: f64) -> (f64, f64) {
  %r:2 = grad.jvp @f(%x, %dx) {active = [0]} : (f64, f64) -> (f64, f64)
  return %r#0, %r#1 : f64, f64
}

// -----

func.func private @f(%x: f64) -> f64
func.func @no_tangent_of_the_result() {
  // expected-error @+1 {{a function of type (f64, f64) -> f64, expected (f64, f64) -> (f64, f64)}}
  %d = "grad.jvp"() {callee = @f, active = [0]} : () -> ((f64, f64) -> f64)
  return
}

// -----

memref.global "private" constant @f : memref<1xf64> = dense<0.0>
func.func @no_function() {
  // expected-error @+1 {{there is no function @f in this module}}
  %d = "grad.jvp"() {callee = @f, active = [0]} : () -> ((f64, f64) -> (f64, f64))
  return
}
