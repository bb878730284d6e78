// RUN: mlirad-opt %s --verify-diagnostics --split-input-file

func.func @legal(%v: f32, %n: index) {
  %h = "te.scan"() ({
  ^bb0(%i: index):
    "te.yield"(%v) : (f32) -> ()
  }, {
  ^bb0(%t: index, %i: index, %s: f32):
    %u = arith.mulf %s, %v : f32
    "te.yield"(%u) : (f32) -> ()
  }) {label = "h", states = 1} : () -> tensor<11x4xf32>
  %g = "te.scan"(%n) ({
    "te.yield"(%v, %v) : (f32, f32) -> ()
  }, {
  ^bb0(%t: index, %s: f32, %u: f32):
    "te.yield"(%u, %s) : (f32, f32) -> ()
  }) {label = "g", states = 2} : (index) -> tensor<?x2xf32>
  return
}

// -----

func.func @states(%v: f32) {
  // expected-error @+1 {{0 states in tensor<5xf32>}}
  %h = "te.scan"() ({
    "te.yield"() : () -> ()
  }, {
  ^bb0(%t: index):
    "te.yield"() : () -> ()
  }) {label = "h", states = 0} : () -> tensor<5xf32>
  return
}

// -----

func.func @step(%v: f32) {
  // expected-error @+1 {{the region of 'te.scan' takes (index), expected (index, f32)}}
  %h = "te.scan"() ({
    "te.yield"(%v) : (f32) -> ()
  }, {
  ^bb0(%t: index):
    "te.yield"(%v) : (f32) -> ()
  }) {label = "h", states = 1} : () -> tensor<5xf32>
  return
}

// -----

func.func @first(%v: f64) {
  // expected-error @+1 {{the region of 'te.scan' gives (f64), expected (f32)}}
  %h = "te.scan"() ({
    "te.yield"(%v) : (f64) -> ()
  }, {
  ^bb0(%t: index, %s: f32):
    "te.yield"(%s) : (f32) -> ()
  }) {label = "h", states = 1} : () -> tensor<5xf32>
  return
}

// -----

func.func @too_many(%v: f32) {
  // expected-error @+1 {{'te.scan' has 1000000000000000000 states, and a step that takes 2 values}}
  %h = "te.scan"() ({
    "te.yield"(%v) : (f32) -> ()
  }, {
  ^bb0(%t: index, %s: f32):
    "te.yield"(%s) : (f32) -> ()
  }) {label = "h", states = 1000000000000000000} : () -> tensor<5x5xf32>
  return
}
