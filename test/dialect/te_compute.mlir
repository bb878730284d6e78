// RUN: mlirad-opt %s --verify-diagnostics --split-input-file

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

func.func @not_a_tensor(%v: f32) {
  // expected-error @+1 {{a result of type f32, expected a ranked tensor}}
  %y = "te.placeholder"() {label = "x"} : () -> f32
  return
}
