// RUN: mlirad-run %s --entry=in_affine_loop random --check | filecheck %s
// RUN: mlirad-run %s --entry=never_runs random --check | filecheck %s
// CHECK: all {{.*}} derivatives agree

// Upstream inlines no function with loops of `scf` into one of `affine`.
func.func private @sines(%m: memref<5xf64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %m[%i] : memref<5xf64>
    %s = math.sin %v : f64
    memref.store %s, %m[%i] : memref<5xf64>
  }
  return
}
func.func @in_affine_loop(%m: memref<5xf64>) {
  affine.for %i = 0 to 5 {
    func.call @sines(%m, %i) : (memref<5xf64>, index) -> ()
  }
  return
}

// Upstream folds the bound of the inner loop to none, which is no loop.
func.func @never_runs(%m: memref<5xf64>) {
  %z = arith.constant 0.0 : f64
  affine.for %i = 0 to 0 {
    affine.for %j = max affine_map<(d0) -> (d0, 0)>(%i) to 1 {
      affine.store %z, %m[%j] : memref<5xf64>
    }
  }
  return
}
