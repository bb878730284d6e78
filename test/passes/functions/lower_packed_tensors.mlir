// RUN: mlirad-opt %s --lower-packed-tensors --canonicalize | filecheck %s
// RUN: mlirad-run %s --entry=pack random --check | filecheck %s --check-prefix=DERIVATIVES
// RUN: mlirad-run %s --entry=unpack random --check | filecheck %s --check-prefix=DERIVATIVES
// DERIVATIVES: all {{.*}} derivatives agree

// CHECK-LABEL: func.func @pack
// CHECK: tensor.pad
// CHECK: tensor.expand_shape
// CHECK: linalg.transpose
// CHECK-NOT: linalg.pack
func.func @pack(%a: tensor<5x8xf64>) -> tensor<3x4x2x2xf64> {
  %z = arith.constant 0.5 : f64
  %e = tensor.empty() : tensor<3x4x2x2xf64>
  %p = linalg.pack %a padding_value(%z : f64) inner_dims_pos = [0, 1] inner_tiles = [2, 2] into %e
    : tensor<5x8xf64> -> tensor<3x4x2x2xf64>
  return %p : tensor<3x4x2x2xf64>
}

// CHECK-LABEL: func.func @unpack
// CHECK: linalg.transpose
// CHECK: tensor.collapse_shape
// CHECK: tensor.extract_slice
// CHECK-NOT: linalg.unpack
func.func @unpack(%a: tensor<3x4x2x2xf64>) -> tensor<5x8xf64> {
  %e = tensor.empty() : tensor<5x8xf64>
  %p = linalg.unpack %a inner_dims_pos = [0, 1] inner_tiles = [2, 2] into %e
    : tensor<3x4x2x2xf64> -> tensor<5x8xf64>
  return %p : tensor<5x8xf64>
}
