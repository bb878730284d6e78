// RUN: mlirad-opt %s --irdl-file=%S/../../mlir/foreign/sample.irdl --rules=%S/../../mlir/foreign/refused_rules.py --lower-foreign-ops --split-input-file --verify-diagnostics

func.func @regions(%x: f64) -> f64 {
  // expected-error @+1 {{'sample.holder' has regions: rules and lowerings are for ops without}}
  %y = "sample.holder"(%x) ({}) : (f64) -> f64
  return %y : f64
}

// -----

func.func @vectors(%x: vector<4xf64>) -> vector<4xf64> {
  // expected-error @+1 {{'sample.leaky' of a value of type 'vector<4xf64>': derivatives are registered for numbers}}
  %y = "sample.leaky"(%x) {slope = 0.5 : f64} : (vector<4xf64>) -> vector<4xf64>
  return %y : vector<4xf64>
}

// -----

func.func @too_many_values(%x: f64) -> f64 {
  // expected-error @+1 {{the derivative of 'sample.leaky' gives 2 values, expected 1: (f64)}}
  %y = "sample.leaky"(%x) {slope = 0.5 : f64} : (f64) -> f64
  return %y : f64
}

// -----

func.func @another_type(%x: f64) -> f64 {
  // expected-error @+1 {{the derivative of 'sample.cubed' gives a value of type 'f32' as number 0, expected 'f64'}}
  %y = "sample.cubed"(%x) : (f64) -> f64
  return %y : f64
}

// -----

func.func @not_linear(%x: f64) -> f64 {
  // expected-error @+1 {{the derivative of 'sample.exponential' makes 'math.exp' of a tangent, which is not linear, so its transpose is not derived: register both}}
  %y = "sample.exponential"(%x) : (f64) -> f64
  return %y : f64
}

// -----

func.func @square(%x: f64) -> f64 {
  // expected-error @+1 {{the derivative of 'sample.root' makes 'arith.mulf' of a tangent, which is not linear}}
  %y = "sample.root"(%x) : (f64) -> f64
  return %y : f64
}

// -----

func.func @affine(%x: f64) -> f64 {
  // expected-error @+1 {{the derivative of 'sample.unruled' adds a value that no tangent enters}}
  %y = "sample.unruled"(%x) : (f64) -> f64
  return %y : f64
}

// -----

func.func @loop(%x: f64, %y: f64, %z: f64) -> f64 {
  // expected-error @+1 {{the derivative of 'sample.hypot3' makes 'scf.for' of a tangent}}
  %r = "sample.hypot3"(%x, %y, %z) : (f64, f64, f64) -> f64
  return %r : f64
}

// -----

func.func @memory(%x: f64, %y: f64) -> f64 {
  // expected-error @+1 {{the derivative of 'sample.polar' makes 'memref.alloca', expected ops on numbers and of 'scf'}}
  %radius, %angle = "sample.polar"(%x, %y) : (f64, f64) -> (f64, f64)
  return %radius : f64
}

// -----

func.func @raises(%x: f64, %y: f64) -> f64 {
  // expected-error @+1 {{the derivative of 'sample.larger' raises KeyError: 'no'}}
  %position, %value = "sample.larger"(%x, %y) : (f64, f64) -> (i32, f64)
  return %value : f64
}

// -----

func.func @no_such_function(%x: f32, %y: f64) -> f64 {
  // expected-error @+1 {{the derivative of 'sample.widened_product' is '@nowhere', and the module has no such function}}
  %r = "sample.widened_product"(%x, %y) : (f32, f64) -> f64
  return %r : f64
}

// -----

func.func private @nowhere(%x: f32) -> f64 {
  %r = arith.extf %x : f32 to f64
  return %r : f64
}
func.func @other_parameters(%x: f32, %y: f64) -> f64 {
  // expected-error @+1 {{the derivative of 'sample.widened_product' is '@nowhere', which takes (f32), expected (f32, f64)}}
  %r = "sample.widened_product"(%x, %y) : (f32, f64) -> f64
  return %r : f64
}

// -----

func.func @number_of_terms(%x: f64, %y: f64) -> (f64, f64) {
  // expected-error @+1 {{the derivative of 'sample.complex_power' is a tuple of terms, which is for ops of one result}}
  %r:2 = "sample.complex_power"(%x, %y) : (f64, f64) -> (f64, f64)
  return %r#0, %r#1 : f64, f64
}

// -----

func.func @term_of_an_integer(%x: f64, %k: i32) -> f64 {
  // expected-error @+1 {{the derivative of 'sample.scaled' has a term for operand 0, an integer: expected None}}
  %r = "sample.scaled"(%k, %x, %k) : (i32, f64, i32) -> f64
  return %r : f64
}

// -----

func.func @terms_for_operands(%x: f64) -> f64 {
  // expected-error @+1 {{the derivative of 'sample.swish' has 2 terms for 1 operands}}
  %r = "sample.swish"(%x) : (f64) -> f64
  return %r : f64
}

// -----

func.func @lowering_of_itself(%x: f64) -> f64 {
  // expected-error @+1 {{the lowering of 'sample.steps' is made of the op itself}}
  %r = "sample.steps"(%x) : (f64) -> f64
  return %r : f64
}
