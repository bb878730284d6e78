// RUN: mlirad-opt %s --lower-float-classes | filecheck %s
// RUN: mlirad-opt %s --lower-float-classes --lower-float-classes | filecheck %s
// RUN: mlirad-run %s --entry=scaled 0.5 --check | filecheck %s --check-prefix=DERIVATIVES
// RUN: mlirad-run %s --entry=scaled 1e-310 | filecheck %s --check-prefix=TINY
// RUN: mlirad-run %s --entry=scaled inf | filecheck %s --check-prefix=LARGE
// RUN: mlirad-run %s --entry=elements zeros | filecheck %s --check-prefix=ELEMENTS
// DERIVATIVES: all {{.*}} derivatives agree
// TINY: 7.
// LARGE: 5.
// ELEMENTS: [7. 7. 7. 7.]

// CHECK-LABEL: func.func @scaled
// CHECK-DAG: %[[A:.*]] = math.absf %arg0 : f64
// CHECK-DAG: %[[I:.*]] = arith.constant 0x7FF0000000000000 : f64
// CHECK: arith.cmpf oeq, %[[A]], %[[I]] : f64
// CHECK: arith.cmpf oge
// CHECK: arith.cmpf olt
// CHECK: arith.andi
// CHECK-NOT: math.is
func.func @scaled(%x: f64) -> f64 {
  %five = arith.constant 5.0 : f64
  %seven = arith.constant 7.0 : f64
  %is_infinite = math.isinf %x : f64
  %is_normal = math.isnormal %x : f64
  %squared = arith.mulf %x, %x : f64
  %a = arith.select %is_normal, %squared, %seven : f64
  %b = arith.select %is_infinite, %five, %a : f64
  return %b : f64
}

// Tensors become their elements first.
// CHECK-LABEL: func.func @elements
// CHECK: math.isnormal
func.func @elements(%x: tensor<4xf64>) -> tensor<4xf64> {
  %seven = arith.constant dense<7.0> : tensor<4xf64>
  %is_normal = math.isnormal %x : tensor<4xf64>
  %r = arith.select %is_normal, %x, %seven : tensor<4xi1>, tensor<4xf64>
  return %r : tensor<4xf64>
}
