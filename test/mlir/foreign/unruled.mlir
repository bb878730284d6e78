// RUN: mlirad-opt %s --irdl-file=%S/sample.irdl --split-input-file --verify-diagnostics --function-pipeline=gradients=true --check-access-rules --differentiate-reverse
// RUN: mlirad-opt %s --irdl-file=%S/sample.irdl --split-input-file --verify-diagnostics --function-pipeline=gradients=true --differentiate-forward

// An op that takes something active and has no derivative is an error, and never a zero.
func.func @in_a_loop(%m: memref<4xf64>) {
  affine.for %i = 0 to 4 {
    %x = affine.load %m[%i] : memref<4xf64>
    // expected-error @+1 {{no derivative rule for 'sample.unruled'}}
    %y = "sample.unruled"(%x) : (f64) -> f64
    affine.store %y, %m[%i] : memref<4xf64>
  }
  return
}

// -----

func.func private @called(%x: f64) -> f64 {
  // expected-error @+1 {{no derivative rule for 'sample.unruled'}}
  %y = "sample.unruled"(%x) : (f64) -> f64
  return %y : f64
}
func.func @in_a_call(%m: memref<4xf64>, %i: index) {
  %x = memref.load %m[%i] : memref<4xf64>
  %y = func.call @called(%x) : (f64) -> f64
  memref.store %y, %m[%i] : memref<4xf64>
  return
}
