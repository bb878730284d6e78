// RUN: mlirad-opt %s --verify-diagnostics --split-input-file

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
