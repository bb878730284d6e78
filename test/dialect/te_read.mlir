// RUN: mlirad-opt %s --verify-diagnostics --split-input-file

func.func @legal(%x: tensor<4x3xf32>, %y: tensor<i32>, %i: index) {
  %v = "te.read"(%x, %i, %i) : (tensor<4x3xf32>, index, index) -> f32
  %w = "te.read"(%y) : (tensor<i32>) -> i32
  return
}

// -----

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

// -----

func.func @no_tensor(%x: f32, %i: index) {
  // expected-error @+1 {{reads f32, expected a ranked tensor}}
  %v = "te.read"(%x, %i) : (f32, index) -> f32
  return
}

// -----

func.func @index(%x: tensor<4xf32>, %i: i32) {
  // expected-error @+1 {{expected base type 'builtin.index' but got 'builtin.integer'}}
  %v = "te.read"(%x, %i) : (tensor<4xf32>, i32) -> f32
  return
}
