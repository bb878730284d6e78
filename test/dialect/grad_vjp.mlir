// RUN: mlirad-opt %s --split-input-file --verify-diagnostics | filecheck %s
// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --mlir-print-op-generic | mlirad-opt - --split-input-file | filecheck %s

// CHECK-LABEL: func.func @caller
// CHECK: grad.vjp @f(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {active = [0, 2]} :
func.func private @f(%x: f64, %n: index, %a: memref<4xf64>) -> (vector<2xf32>, i32)
func.func @caller(%x: f64, %n: index, %a: memref<4xf64>, %da: memref<4xf64>, %v: vector<2xf32>) {
  %back = "grad.vjp"() {active = [0, 2], callee = @f} : () -> ((f64, index, memref<4xf64>, memref<4xf64>, vector<2xf32>) -> f64)
  %dx = func.call_indirect %back(%x, %n, %a, %da, %v) : (f64, index, memref<4xf64>, memref<4xf64>, vector<2xf32>) -> f64
  return
}

// -----

// CHECK-LABEL: func.func @spelled
// CHECK: %[[slope:.*]] = grad.vjp @f(%{{.*}}, %{{.*}}) {active = [0]} : (f64, f64) -> f64
// CHECK: %[[both:.*]]:2 = grad.vjp @g(%{{.*}}, %[[slope]], %[[slope]]) {active = [0, 1]} :
// CHECK: grad.vjp @h(%{{.*}}, %{{.*}}) {active = [0]} :
// CHECK: return %[[both]]#1
func.func private @f(%x: f64) -> f64
func.func private @g(%x: f64, %y: f64) -> f64
func.func private @h(%a: memref<4xf64>)
func.func @spelled(%x: f64, %a: memref<4xf64>, %da: memref<4xf64>) -> f64 {
  %slope = grad.vjp @f(%x, %x) {active = [0]} : (f64, f64) -> f64
  %dx, %dy = grad.vjp @g(%x, %slope, %slope) {active = [0, 1]} : (f64, f64, f64) -> (f64, f64)
  grad.vjp @h(%a, %da) {active = [0]} : (memref<4xf64>, memref<4xf64>) -> ()
  return %dy : f64
}

// -----

// what is not called at once, or not once, is a value

// CHECK-LABEL: func.func @several_uses
// CHECK: %[[twice:.*]] = grad.vjp @f {active = [0]} :
// CHECK: call_indirect %[[twice]](
// CHECK: call_indirect %[[twice]](
// CHECK: %[[late:.*]] = grad.vjp @f {active = [0]} :
// CHECK: arith.addf
// CHECK: call_indirect %[[late]](
func.func private @f(%x: f64) -> f64
func.func @several_uses(%x: f64) -> f64 {
  %twice = grad.vjp @f {active = [0]} : (f64, f64) -> f64
  %a = func.call_indirect %twice(%x, %x) : (f64, f64) -> f64
  %b = func.call_indirect %twice(%x, %a) : (f64, f64) -> f64
  %late = grad.vjp @f {active = [0]} : (f64, f64) -> f64
  %c = arith.addf %a, %b : f64
  %d = func.call_indirect %late(%x, %c) : (f64, f64) -> f64
  return %d : f64
}

// -----

func.func private @f(%x: f64) -> f64
func.func @spelled_with_another_type(%x: f64) {
  // expected-error @+1 {{a function of type (f64) -> f64, expected (f64, f64) -> f64}}
  %d = grad.vjp @f(%x) {active = [0]} : (f64) -> f64
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
