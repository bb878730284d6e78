// RUN: mlirad-opt %s --insert-destinations | filecheck %s
// RUN: mlirad-run %s --entry=swap random random 3 --check | filecheck %s --check-prefix=DERIVATIVES
// RUN: mlirad-run %s --entry=choose random 1 --check | filecheck %s --check-prefix=DERIVATIVES
// RUN: mlirad-run %s --entry=repeat random 4 --check | filecheck %s --check-prefix=DERIVATIVES
// DERIVATIVES: all {{.*}} derivatives agree

#id = affine_map<(i) -> (i)>
func.func private @sine(%a: tensor<4xf64>) -> tensor<4xf64> {
  %e = tensor.empty() : tensor<4xf64>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
       ins(%a : tensor<4xf64>) outs(%e : tensor<4xf64>) {
  ^bb0(%x: f64, %o: f64):
    %s = math.sin %x : f64
    linalg.yield %s : f64
  } -> tensor<4xf64>
  return %r : tensor<4xf64>
}

// A loop leaves tensors where they were, though they change places.
// CHECK-LABEL: func.func @swap
// CHECK: iter_args(%[[A:.*]] = %arg0, %[[B:.*]] = %arg1)
// CHECK: %[[S:.*]] = func.call @sine
// CHECK: %[[C:.*]] = bufferization.materialize_in_destination %[[B]] in %[[A]]
// CHECK: %[[D:.*]] = bufferization.materialize_in_destination %[[S]] in %[[B]]
// CHECK: scf.yield %[[C]], %[[D]]
func.func @swap(%a: tensor<4xf64>, %b: tensor<4xf64>, %n: index) -> (tensor<4xf64>, tensor<4xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a, %y = %b) -> (tensor<4xf64>, tensor<4xf64>) {
    %s = func.call @sine(%x) : (tensor<4xf64>) -> tensor<4xf64>
    scf.yield %y, %s : tensor<4xf64>, tensor<4xf64>
  }
  return %r#0, %r#1 : tensor<4xf64>, tensor<4xf64>
}

// The branches leave theirs in one buffer.
// CHECK-LABEL: func.func @choose
// CHECK: %[[E:.*]] = tensor.empty() : tensor<4xf64>
// CHECK: scf.if
// CHECK: bufferization.materialize_in_destination %{{.*}} in %[[E]]
// CHECK: } else {
// CHECK: bufferization.materialize_in_destination %arg0 in %[[E]]
func.func @choose(%a: tensor<4xf64>, %n: index) -> tensor<4xf64> {
  %c1 = arith.constant 1 : index
  %is = arith.cmpi eq, %n, %c1 : index
  %r = scf.if %is -> (tensor<4xf64>) {
    %s = func.call @sine(%a) : (tensor<4xf64>) -> tensor<4xf64>
    scf.yield %s : tensor<4xf64>
  } else {
    scf.yield %a : tensor<4xf64>
  }
  return %r : tensor<4xf64>
}

// CHECK-LABEL: func.func @repeat
// CHECK: scf.while (%[[X:.*]] = %arg0
// CHECK: ^bb0(%[[Y:.*]]: tensor<4xf64>
// CHECK: bufferization.materialize_in_destination %{{.*}} in %[[Y]]
func.func @repeat(%a: tensor<4xf64>, %n: index) -> tensor<4xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.while (%x = %a, %i = %c0) : (tensor<4xf64>, index) -> (tensor<4xf64>, index) {
    %go = arith.cmpi ult, %i, %n : index
    scf.condition(%go) %x, %i : tensor<4xf64>, index
  } do {
  ^bb0(%x: tensor<4xf64>, %i: index):
    %s = func.call @sine(%x) : (tensor<4xf64>) -> tensor<4xf64>
    %k = arith.addi %i, %c1 : index
    scf.yield %s, %k : tensor<4xf64>, index
  }
  return %r#0 : tensor<4xf64>
}
