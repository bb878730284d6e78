// RUN: mlirad-opt %s --verify-diagnostics --split-input-file

func.func @legal(%a: index, %n: index, %zero: f32, %x: f32) {
  %s = "te.reduce"(%a, %n, %a, %n, %zero) ({
  ^bb0(%k: index, %l: index):
    "te.yield"(%x) : (f32) -> ()
  }, {
  ^bb0(%u: f32, %v: f32):
    %t = arith.addf %u, %v : f32
    "te.yield"(%t) : (f32) -> ()
  }) {kind = "sum", operandSegmentSizes = array<i32: 4, 1>} : (index, index, index, index, f32) -> f32
  %p:2 = "te.reduce"(%a, %n, %zero, %zero) ({
  ^bb0(%k: index):
    "te.yield"(%x, %x) : (f32, f32) -> ()
  }, {
  ^bb0(%u: f32, %v: f32, %w: f32, %y: f32):
    %t = arith.addf %u, %w : f32
    %q = arith.mulf %v, %y : f32
    "te.yield"(%t, %q) : (f32, f32) -> ()
  }) {kind = "custom", operandSegmentSizes = array<i32: 2, 2>} : (index, index, f32, f32) -> (f32, f32)
  %i = "te.reduce"(%a, %n) ({
  ^bb0(%k: index):
    "te.yield"(%x) : (f32) -> ()
  }, {}) {kind = "argmin", operandSegmentSizes = array<i32: 2, 0>} : (index, index) -> i32
  return
}

// -----

func.func @kind(%a: index, %zero: f32) {
  // expected-error @+1 {{unknown kind 'average', expected one of sum, prod, max, min, argmax, argmin, custom}}
  %s = "te.reduce"(%a, %a, %zero) ({
  ^bb0(%k: index):
    "te.yield"(%zero) : (f32) -> ()
  }, {
  ^bb0(%x: f32, %y: f32):
    "te.yield"(%x) : (f32) -> ()
  }) {kind = "average", operandSegmentSizes = array<i32: 2, 1>} : (index, index, f32) -> f32
  return
}

// -----

func.func @combiner(%a: index, %zero: f32) {
  // expected-error @+1 {{the combiner takes (f32), expected two of each result}}
  %s = "te.reduce"(%a, %a, %zero) ({
  ^bb0(%k: index):
    "te.yield"(%zero) : (f32) -> ()
  }, {
  ^bb0(%x: f32):
    "te.yield"(%x) : (f32) -> ()
  }) {kind = "sum", operandSegmentSizes = array<i32: 2, 1>} : (index, index, f32) -> f32
  return
}

// -----

func.func @position(%a: index, %zero: f32) {
  // expected-error @+1 {{'argmax' gives (f32), expected (i32)}}
  %s = "te.reduce"(%a, %a) ({
  ^bb0(%k: index):
    "te.yield"(%zero) : (f32) -> ()
  }, {}) {kind = "argmax", operandSegmentSizes = array<i32: 2, 0>} : (index, index) -> f32
  return
}

// -----

func.func @values(%a: index, %zero: f32, %x: f64) {
  // expected-error @+1 {{the region of 'te.reduce' gives (f64), expected (f32)}}
  %s = "te.reduce"(%a, %a, %zero) ({
  ^bb0(%k: index):
    "te.yield"(%x) : (f64) -> ()
  }, {
  ^bb0(%u: f32, %v: f32):
    "te.yield"(%u) : (f32) -> ()
  }) {kind = "sum", operandSegmentSizes = array<i32: 2, 1>} : (index, index, f32) -> f32
  return
}

// -----

func.func @begun(%a: index, %zero: f32) {
  // expected-error @+1 {{'argmax' has neither initial values nor a combiner}}
  %s = "te.reduce"(%a, %a, %zero) ({
  ^bb0(%k: index):
    "te.yield"(%zero) : (f32) -> ()
  }, {}) {kind = "argmax", operandSegmentSizes = array<i32: 2, 1>} : (index, index, f32) -> i32
  return
}
