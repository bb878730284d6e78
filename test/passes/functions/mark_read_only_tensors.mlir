// RUN: mlirad-opt %s --mark-read-only-tensors | filecheck %s
// RUN: mlirad-run %s ones ones | filecheck %s --check-prefix=OUTPUTS
// RUN: mlirad-run %s random random --check | filecheck %s --check-prefix=DERIVATIVES
// DERIVATIVES: all {{.*}} derivatives agree

// The argument that a sum begins with is not written to; a memref may be.
// OUTPUTS: result 0
// OUTPUTS-NOT: argument 0
// OUTPUTS: argument 1
// CHECK: func.func @sum(%arg0: tensor<2xf64> {bufferization.writable = false}, %arg1: memref<2xf64>)
#id = affine_map<(i) -> (i)>
func.func @sum(%a: tensor<2xf64>, %m: memref<2xf64>) -> tensor<2xf64> {
  %c0 = arith.constant 0 : index
  %two = arith.constant 2.0 : f64
  %v = memref.load %m[%c0] : memref<2xf64>
  memref.store %two, %m[%c0] : memref<2xf64>
  %r = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%a : tensor<2xf64>) {
  ^bb0(%o: f64):
    %p = arith.mulf %o, %v : f64
    linalg.yield %p : f64
  } -> tensor<2xf64>
  return %r : tensor<2xf64>
}
