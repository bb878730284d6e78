// RUN: mlirad-opt %s --linalg-generalize-named-ops --raise-linalg-to-te | filecheck %s
// RUN: mlirad-run %s --entry=product random random --check | filecheck %s --check-prefix=DERIVATIVES
// RUN: mlirad-run %s --entry=with_constants random --check | filecheck %s --check-prefix=DERIVATIVES
// RUN: mlirad-run %s --entry=recurrence random --check | filecheck %s --check-prefix=DERIVATIVES
// DERIVATIVES: all {{.*}} derivatives agree

// A sum over the reduced index, which begins with the zeros of its target.
// CHECK-LABEL: func.func @product(%arg0: tensor<4x3xf64> {field.role = ["argument", 0]},
// CHECK: te.reduce sum
// CHECK: te.read{{.*}}%arg0
// CHECK: te.read{{.*}}%arg1
// CHECK: arith.mulf
// CHECK-NOT: linalg
func.func @product(%a: tensor<4x3xf64>, %b: tensor<3x2xf64>) -> tensor<4x2xf64> {
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<4x2xf64>
  %i = linalg.fill ins(%z : f64) outs(%e : tensor<4x2xf64>) -> tensor<4x2xf64>
  %r = linalg.matmul ins(%a, %b : tensor<4x3xf64>, tensor<3x2xf64>)
                     outs(%i : tensor<4x2xf64>) -> tensor<4x2xf64>
  return %r : tensor<4x2xf64>
}

// A constant that is used is an argument.
// CHECK-LABEL: func.func @with_constants
// CHECK-SAME: %arg1: tensor<3xf64> {field.role = ["constant"], field.value = dense<[1.000000e+00, 2.000000e+00, 4.000000e+00]> : tensor<3xf64>})
// CHECK: te.compute
func.func @with_constants(%a: tensor<3xf64>) -> tensor<3xf64> {
  %c = arith.constant dense<[1.0, 2.0, 4.0]> : tensor<3xf64>
  %e = tensor.empty() : tensor<3xf64>
  %r = linalg.mul ins(%a, %c : tensor<3xf64>, tensor<3xf64>) outs(%e : tensor<3xf64>) -> tensor<3xf64>
  return %r : tensor<3xf64>
}

// What each point does to the value so far is no combination: a loop.
// CHECK-LABEL: func.func @recurrence
// CHECK: linalg.generic
// CHECK-NOT: te.compute
func.func @recurrence(%a: tensor<4x3xf64>) -> tensor<4xf64> {
  %z = arith.constant 0.5 : f64
  %e = tensor.empty() : tensor<4xf64>
  %i = linalg.fill ins(%z : f64) outs(%e : tensor<4xf64>) -> tensor<4xf64>
  %r = linalg.generic {indexing_maps = [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (i)>],
                       iterator_types = ["parallel", "reduction"]}
       ins(%a : tensor<4x3xf64>) outs(%i : tensor<4xf64>) {
  ^bb0(%x: f64, %o: f64):
    %p = arith.mulf %x, %o : f64
    %s = arith.addf %o, %p : f64
    linalg.yield %s : f64
  } -> tensor<4xf64>
  return %r : tensor<4xf64>
}

// No tensor: it stays as it is.
// CHECK-LABEL: func.func @of_numbers
// CHECK: arith.mulf
// CHECK-NOT: te.
func.func @of_numbers(%v: f64, %flag: i1) -> f64 {
  %r = arith.mulf %v, %v : f64
  return %r : f64
}
