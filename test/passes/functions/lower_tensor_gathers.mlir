// RUN: mlirad-opt %s --lower-tensor-gathers | filecheck %s
// RUN: mlirad-run %s --entry=gather random zeros --check | filecheck %s --check-prefix=DERIVATIVES
// RUN: mlirad-run %s --entry=scatter random random arange --check | filecheck %s --check-prefix=DERIVATIVES
// DERIVATIVES: all {{.*}} derivatives agree

// CHECK-LABEL: func.func @gather
// CHECK: tensor.generate
// CHECK: ^bb0(%[[I:.*]]: index, %[[J:.*]]: index):
// CHECK: %[[K:.*]] = tensor.extract %arg1[%[[I]], %{{.*}}] : tensor<6x1xi32>
// CHECK: %[[C:.*]] = arith.index_cast %[[K]]
// CHECK: tensor.extract %arg0[%[[C]], %[[J]]] : tensor<4x5xf64>
func.func @gather(%a: tensor<4x5xf64>, %i: tensor<6x1xi32>) -> tensor<6x5xf64> {
  %g = tensor.gather %a[%i] gather_dims([0]) : (tensor<4x5xf64>, tensor<6x1xi32>) -> tensor<6x5xf64>
  return %g : tensor<6x5xf64>
}

// CHECK-LABEL: func.func @scatter
// CHECK: scf.for
// CHECK: scf.for
// CHECK: tensor.insert
// CHECK-NOT: tensor.scatter
func.func @scatter(%s: tensor<3x5xf64>, %a: tensor<8x5xf64>, %i: tensor<3x1xi32>) -> tensor<8x5xf64> {
  %g = tensor.scatter %s into %a[%i] scatter_dims([0]) unique
    : (tensor<3x5xf64>, tensor<8x5xf64>, tensor<3x1xi32>) -> tensor<8x5xf64>
  return %g : tensor<8x5xf64>
}
