// RUN: mlirad-opt %s --split-input-file --verify-diagnostics | filecheck %s
// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --mlir-print-op-generic | mlirad-opt - --split-input-file | filecheck %s

// CHECK-LABEL: func.func @caller
// CHECK: %[[back:.*]] = grad.vjp @f {active = [0, 2]} :
// CHECK: call_indirect %[[back]](
func.func private @f(%x: f64, %n: index, %a: memref<4xf64>) -> (vector<2xf32>, i32)
func.func @caller(%x: f64, %n: index, %a: memref<4xf64>, %da: memref<4xf64>, %v: vector<2xf32>) {
  %back = "grad.vjp"() {callee = @f, active = [0, 2]}
      : () -> ((f64, index, memref<4xf64>, memref<4xf64>, vector<2xf32>) -> f64)
  %dx = func.call_indirect %back(%x, %n, %a, %da, %v)
      : (f64, index, memref<4xf64>, memref<4xf64>, vector<2xf32>) -> f64
  return
}

// -----

func.func @unknown() {
  // expected-error @+1 {{there is no function @f in this module}}
  %d = "grad.vjp"() {callee = @f, active = [0]} : () -> ((f64, f64) -> f64)
  return
}

// -----

func.func private @f(%x: f64) -> f64
func.func @unknown_argument() {
  // expected-error @+1 {{'active' lists argument 1, and @f has 1}}
  %d = "grad.vjp"() {callee = @f, active = [1]} : () -> ((f64, f64) -> f64)
  return
}

// -----

func.func private @f(%x: f64) -> f64
func.func @twice() {
  // expected-error @+1 {{'active' is [0, 0], expected numbers of arguments, rising, one at least}}
  %d = "grad.vjp"() {callee = @f, active = [0, 0]} : () -> ((f64, f64) -> f64)
  return
}

// -----

func.func private @f(%x: f64) -> f64
func.func @no_number() {
  // expected-error @+1 {{'active' is ["all"], expected numbers of arguments, rising, one at least}}
  %d = "grad.vjp"() {callee = @f, active = ["all"]} : () -> ((f64, f64) -> f64)
  return
}

// -----

func.func private @f(%x: f64, %i: i32, %a: memref<2xi32>) -> f64
func.func @integer() {
  // expected-error @+1 {{argument 1 of @f is a 'i32', which has no derivative}}
  %d = "grad.vjp"() {callee = @f, active = [0, 1]} : () -> ((f64, i32, memref<2xi32>, f64) -> f64)
  return
}

// -----

func.func private @f(%x: f64, %i: i32, %a: memref<2xi32>) -> f64
func.func @memory_of_integers() {
  // expected-error @+1 {{argument 2 of @f is a 'memref<2xi32>', which has no derivative}}
  %d = "grad.vjp"() {callee = @f, active = [2]} : () -> ((f64, i32, memref<2xi32>, f64) -> f64)
  return
}

// -----

func.func private @f(%x: f64) -> f64
func.func @no_adjoint() {
  // expected-error @+1 {{a function of type (f64) -> f64, expected (f64, f64) -> f64}}
  %d = "grad.vjp"() {callee = @f, active = [0]} : () -> ((f64) -> f64)
  return
}

// -----

func.func private @f(%a: memref<4xf64>)
func.func @another_buffer() {
  // expected-error @+1 {{a function of type (memref<4xf64>, memref<?xf64>) -> (), expected (memref<4xf64>, memref<4xf64>) -> ()}}
  %d = "grad.vjp"() {callee = @f, active = [0]} : () -> ((memref<4xf64>, memref<?xf64>) -> ())
  return
}

// -----

func.func private @f(%x: f64) -> f64
func.func @another_call(%x: f64) -> f64 {
  %d = "grad.vjp"() {callee = @f, active = [0]} : () -> ((f64, f64) -> f64)
  // expected-error @+1 {{expects different type than prior uses}}
  %dx = func.call_indirect %d(%x) : (f64) -> f64
  return %dx : f64
}
