// RUN: mlirad-opt %s --lower-softmax | filecheck %s
// RUN: mlirad-run %s random --check | filecheck %s --check-prefix=DERIVATIVES
// DERIVATIVES: all {{.*}} derivatives agree

// The largest element, powers of e, their sum, quotients.
// CHECK-LABEL: func.func @softmax
// CHECK: arith.maxnumf
// CHECK: math.exp
// CHECK: arith.addf
// CHECK: arith.divf
// CHECK-NOT: linalg.softmax
func.func @softmax(%a: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %e = tensor.empty() : tensor<3x4xf64>
  %r = linalg.softmax dimension(1) ins(%a : tensor<3x4xf64>) outs(%e : tensor<3x4xf64>) -> tensor<3x4xf64>
  return %r : tensor<3x4xf64>
}
