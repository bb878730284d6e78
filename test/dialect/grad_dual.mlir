// RUN: mlirad-opt %s --split-input-file --verify-diagnostics | filecheck %s
// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --mlir-print-op-generic | mlirad-opt - --split-input-file | filecheck %s

// CHECK-LABEL: func.func @two_directions
// CHECK: "grad.dual"({{.*}}) ({
// CHECK: grad.yield {{.*}} : f32
// CHECK: }) {directions = 2 : i64} : (f64, f64, f64, f64, f64, f64) -> (f32, f32, f32)
func.func @two_directions(%x: f64, %y: f64) {
  "grad.dual"(%x, %y, %x, %y, %x, %y) ({
  ^bb0(%a: f64, %b: f64):
    %r = arith.truncf %a : f64 to f32
    "grad.yield"(%r) : (f32) -> ()
  }) {directions = 2} : (f64, f64, f64, f64, f64, f64) -> (f32, f32, f32)
  return
}

// -----

func.func @no_tangent(%x: f32) {
  // expected-error @+1 {{operands of types (f32), expected 2 times (f32)}}
  "grad.dual"(%x) ({
  ^bb0(%a: f32):
    "grad.yield"(%a) : (f32) -> ()
  }) {directions = 1} : (f32) -> (f32, f32)
  return
}

// -----

func.func @no_tangent_of_the_result(%x: f32) {
  // expected-error @+1 {{results of types (f32), expected 2 times (f32)}}
  "grad.dual"(%x, %x) ({
  ^bb0(%a: f32):
    "grad.yield"(%a) : (f32) -> ()
  }) {directions = 1} : (f32, f32) -> (f32)
  return
}

// -----

func.func @integer(%x: i32) {
  // expected-error @+1 {{operands of types i32, expected floats}}
  "grad.dual"(%x, %x) ({
  ^bb0(%a: i32):
    "grad.yield"() : () -> ()
  }) {directions = 1} : (i32, i32) -> ()
  return
}

// -----

func.func @no_direction(%x: f32) {
  // expected-error @+1 {{0 : i64 directions, expected one or more}}
  "grad.dual"(%x) ({
  ^bb0(%a: f32):
    "grad.yield"(%a) : (f32) -> ()
  }) {directions = 0} : (f32) -> (f32)
  return
}
