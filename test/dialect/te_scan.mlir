// RUN: mlirad-opt %s --verify-diagnostics --split-input-file

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
