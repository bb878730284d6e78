// RUN: mlirad-opt %s --irdl-file=%S/sample.irdl --rules=%S/unlowered_rules.py --function-pipeline=gradients=true --check-access-rules --differentiate-reverse --inline-custom-gradients | filecheck %s

// An op that has a derivative and no lowering stays, for a pass that comes later.
// CHECK: sample.unruled
// CHECK: arith.mulf
func.func @f(%m: memref<4xf64>) {
  affine.for %i = 0 to 4 {
    %x = affine.load %m[%i] : memref<4xf64>
    %y = "sample.unruled"(%x) : (f64) -> f64
    affine.store %y, %m[%i] : memref<4xf64>
  }
  return
}
