// RUN: mlirad-opt %s --verify-diagnostics --split-input-file

func.func @rank(%x: tensor<4x3xf32>, %i: index) {
  // expected-error @+1 {{1 indices for a tensor of rank 2}}
  %v = "te.read"(%x, %i) : (tensor<4x3xf32>, index) -> f32
  return
}

// -----

func.func @type(%x: tensor<4xf32>, %i: index) {
  // expected-error @+1 {{a value of type f64 from tensor<4xf32>}}
  %v = "te.read"(%x, %i) : (tensor<4xf32>, index) -> f64
  return
}
