// RUN: mlirad-opt %s --split-input-file --verify-diagnostics | filecheck %s
// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --mlir-print-op-generic | mlirad-opt - --split-input-file | filecheck %s

// CHECK-LABEL: func.func @f
// CHECK: "grad.custom"(%arg0, %arg1)
func.func @f(%x: f32, %n: i64) -> f32 {
  %y = "grad.custom"(%x, %n) ({
  ^bb0(%a: f32, %k: i64):
    "grad.yield"(%a) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %k: i64, %r: f32, %d: f32):
    "grad.yield"(%d) : (f32) -> ()
  }, {
  }) {function = "f", operandSegmentSizes = array<i32: 1, 1>} : (f32, i64) -> f32
  return %y : f32
}

// -----

func.func @f(%x: f32) -> f32 {
  // expected-error @+1 {{region 'vjp' takes (f32), expected (f32, f32, f32)}}
  %y = "grad.custom"(%x) ({
  ^bb0(%a: f32):
    "grad.yield"(%a) : (f32) -> ()
  }, {
  ^bb0(%a: f32):
    "grad.yield"(%a) : (f32) -> ()
  }, {
  }) {function = "f", operandSegmentSizes = array<i32: 1, 0>} : (f32) -> f32
  return %y : f32
}

// -----

func.func @f(%x: f32) -> f32 {
  // expected-error @+1 {{region 'primal' yields (f32, f32), expected (f32)}}
  %y = "grad.custom"(%x) ({
  ^bb0(%a: f32):
    "grad.yield"(%a, %a) : (f32, f32) -> ()
  }, {
  }, {
  }) {function = "f", operandSegmentSizes = array<i32: 1, 0>} : (f32) -> f32
  return %y : f32
}

// -----

func.func @f(%x: f32) -> f32 {
  // expected-error @+1 {{region 'primal' of 'grad.custom' holds 0 blocks, expected one}}
  %y = "grad.custom"(%x) ({}, {}, {}) {function = "f", operandSegmentSizes = array<i32: 1, 0>} : (f32) -> f32
  return %y : f32
}

// -----

func.func @f(%x: f32) -> f32 {
  // expected-error @+1 {{region 'jvp' of 'grad.custom' ends in no 'grad.yield'}}
  %y = "grad.custom"(%x) ({
  ^bb0(%a: f32):
    "grad.yield"(%a) : (f32) -> ()
  }, {
  }, {
  ^bb0(%a: f32, %r: f32, %t: f32):
    llvm.unreachable
  }) {function = "f", operandSegmentSizes = array<i32: 1, 0>} : (f32) -> f32
  return %y : f32
}

// -----

func.func @f(%x: f32) -> i64 {
  // expected-error @+1 {{results of types (i64), expected floats}}
  %y = "grad.custom"(%x) ({
  ^bb0(%a: f32):
    %n = arith.constant 1 : i64
    "grad.yield"(%n) : (i64) -> ()
  }, {
  }, {
  }) {function = "f", operandSegmentSizes = array<i32: 1, 0>} : (f32) -> i64
  return %y : i64
}
