// RUN: mlirad-run %s random random:seed=2 --entry=chain --irdl-file=%S/sample.irdl --rules=%S/sample_rules.py --check | filecheck %s
// RUN: mlirad-run %s random random:seed=2 --entry=chain --irdl-file=%S/sample.irdl --rules=%S/sample_rules.py --check --arch=simt | filecheck %s
// RUN: mlirad-run %s random --entry=layer --irdl-file=%S/sample.irdl --rules=%S/sample_rules.py --check | filecheck %s
// RUN: mlirad-run %s random --entry=layer --irdl-file=%S/sample.irdl --rules=%S/sample_rules.py --check --arch=simt | filecheck %s
// CHECK: all {{.*}} derivatives agree

// Ops in functions that are called, of two types, in loops, in a branch; a rule in MLIR.
func.func private @widened_product(%x: f32, %y: f64) -> f64 {
  %w = arith.extf %x : f32 to f64
  %r = arith.mulf %w, %y : f64
  return %r : f64
}
func.func private @widened_product_partials(%x: f32, %y: f64) -> (f64, f64) {
  %w = arith.extf %x : f32 to f64
  return %y, %w : f64, f64
}
func.func private @twice(%x: f64) -> f64 {
  %y = "sample.swish"(%x) : (f64) -> f64
  %z = "sample.swish"(%y) : (f64) -> f64
  return %z : f64
}
func.func @chain(%m: memref<8xf64>, %w: memref<8xf32>) -> f64 {
  %c0 = arith.constant 0.0 : f64
  %r = affine.for %i = 0 to 8 iter_args(%s = %c0) -> f64 {
    %x = affine.load %m[%i] : memref<8xf64>
    %k = affine.load %w[%i] : memref<8xf32>
    %y = func.call @twice(%x) : (f64) -> f64
    %p = arith.cmpf ogt, %y, %c0 : f64
    %q = scf.if %p -> f64 {
      %radius, %angle = "sample.polar"(%x, %y) : (f64, f64) -> (f64, f64)
      %v = arith.mulf %radius, %angle : f64
      scf.yield %v : f64
    } else {
      %v = "sample.widened_product"(%k, %y) : (f32, f64) -> f64
      scf.yield %v : f64
    }
    affine.store %q, %m[%i] : memref<8xf64>
    %z = arith.addf %s, %q : f64
    affine.yield %z : f64
  }
  return %r : f64
}

// In linalg on tensors.
func.func @layer(%m: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
       ins(%m : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = "sample.swish"(%x) : (f32) -> f32
    %z = "sample.leaky"(%y) {slope = 0.25 : f32} : (f32) -> f32
    linalg.yield %z : f32
  } -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}
