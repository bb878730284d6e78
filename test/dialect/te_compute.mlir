// RUN: mlirad-opt %s --verify-diagnostics --split-input-file

// Sizes that the type does not say are operands; regions may use what is outside of them.
func.func @legal(%x: tensor<4x?xf32>, %n: index, %b: f32) {
  %y = "te.compute"(%n) ({
  ^bb0(%i: index, %j: index):
    %v = "te.read"(%x, %i, %j) : (tensor<4x?xf32>, index, index) -> f32
    %s = arith.addf %v, %b : f32
    "te.yield"(%s) : (f32) -> ()
  }) {label = "y"} : (index) -> tensor<4x?xf32>
  %z = "te.compute"() ({
    "te.yield"(%b) : (f32) -> ()
  }) {label = "z"} : () -> tensor<f32>
  return
}

// -----

func.func @wrong_indices(%x: tensor<4xf32>) {
  // expected-error @+1 {{the region of 'te.compute' takes (index), expected (index, index)}}
  %y = "te.compute"() ({
  ^bb0(%i: index):
    %v = "te.read"(%x, %i) : (tensor<4xf32>, index) -> f32
    "te.yield"(%v) : (f32) -> ()
  }) {label = "y"} : () -> tensor<4x4xf32>
  return
}

// -----

func.func @no_size(%x: tensor<4xf32>) {
  // expected-error @+1 {{0 sizes, expected 1}}
  %y = "te.compute"() ({
  ^bb0(%i: index):
    %v = "te.read"(%x, %i) : (tensor<4xf32>, index) -> f32
    "te.yield"(%v) : (f32) -> ()
  }) {label = "y"} : () -> tensor<?xf32>
  return
}

// -----

func.func @element(%x: tensor<4xf64>) {
  // expected-error @+1 {{the region of 'te.compute' gives (f64), expected (f32)}}
  %y = "te.compute"() ({
  ^bb0(%i: index):
    %v = "te.read"(%x, %i) : (tensor<4xf64>, index) -> f64
    "te.yield"(%v) : (f64) -> ()
  }) {label = "y"} : () -> tensor<4xf32>
  return
}

// -----

func.func @end(%v: f32, %holds: i1, %k: index) {
  %y = "te.compute"() ({
  ^bb0(%i: index):
    // expected-error @+1 {{block with no terminator}}
    %s = arith.addf %v, %v : f32
  }) {label = "y"} : () -> tensor<4xf32>
  return
}
