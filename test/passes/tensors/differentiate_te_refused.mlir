// RUN: mlirad-opt %s --differentiate-te --verify-diagnostics --split-input-file

// expected-error @+1 {{'te.adjoints' names an argument that the function has not}}
func.func @number(%x: tensor<5xf32>, %head: tensor<5xf32>) -> tensor<5xf32> attributes {te.adjoints = {inputs = [0], head = 2}} {
  return %x : tensor<5xf32>
}

// -----

// expected-error @+1 {{a head of type tensor<4xf32> for tensor<5xf32>}}
func.func @head(%x: tensor<5xf32>, %head: tensor<4xf32>) -> tensor<5xf32> attributes {te.adjoints = {inputs = [0], head = 1}} {
  return %x : tensor<5xf32>
}

// -----

// expected-error @+1 {{expected tensors of floats}}
func.func @integers(%x: tensor<5xi32>, %head: tensor<5xi32>) -> tensor<5xi32> attributes {te.adjoints = {inputs = [0], head = 1}} {
  return %x : tensor<5xi32>
}

// -----

// expected-error @+1 {{'te.adjoints' is {inputs = [0]}, expected inputs and head}}
func.func @mark(%x: tensor<5xf32>, %head: tensor<5xf32>) -> tensor<5xf32> attributes {te.adjoints = {inputs = [0]}} {
  return %x : tensor<5xf32>
}

// -----

func.func @merged(%x: tensor<4x6xf32>, %head: tensor<4xf32>) -> tensor<4xf32> attributes {te.adjoints = {inputs = [0], head = 1}} {
  %c0 = arith.constant 0 : index
  %c6 = arith.constant 6 : index
  %zero = arith.constant 0.0 : f32
  %y = "te.compute"() ({
  ^bb0(%i: index):
    // expected-error @+1 {{a reduction inside an expression has no derivative: run differentiate-te before merge-te-computes}}
    %s = "te.reduce"(%c0, %c6, %zero) ({
    ^bb0(%k: index):
      %a = "te.read"(%x, %i, %k) : (tensor<4x6xf32>, index, index) -> f32
      "te.yield"(%a) : (f32) -> ()
    }, {
    ^bb0(%a: f32, %b: f32):
      %t = arith.addf %a, %b : f32
      "te.yield"(%t) : (f32) -> ()
    }) {kind = "sum", operandSegmentSizes = array<i32: 2, 1>} : (index, index, f32) -> f32
    %t = math.tanh %s : f32
    "te.yield"(%t) : (f32) -> ()
  }) {label = "y"} : () -> tensor<4xf32>
  return %y : tensor<4xf32>
}
