// RUN: mlirad-opt %s --merge-products | filecheck %s
// RUN: mlirad-opt %s --merge-products --merge-products | filecheck %s

// CHECK-LABEL: func.func @of_a_sum
// CHECK-NEXT: %[[R:.*]] = math.fma %arg0, %arg1, %arg2 {field.exact} : f32
// CHECK-NEXT: return %[[R]]
func.func @of_a_sum(%a: f32, %b: f32, %c: f32) -> f32 {
  %p = arith.mulf %a, %b {field.fused} : f32
  %r = arith.addf %c, %p {field.exact} : f32
  return %r : f32
}

// CHECK-LABEL: func.func @of_differences
// CHECK-NEXT: %[[N:.*]] = arith.negf %arg2
// CHECK-NEXT: %[[R:.*]] = math.fma %arg0, %arg1, %[[N]]
// CHECK-NEXT: %[[M:.*]] = arith.negf %arg0
// CHECK-NEXT: %[[S:.*]] = math.fma %[[M]], %arg1, %arg2
// CHECK-NEXT: return %[[R]], %[[S]]
func.func @of_differences(%a: f64, %b: f64, %c: f64) -> (f64, f64) {
  %p = arith.mulf %a, %b {field.fused} : f64
  %r = arith.subf %p, %c {field.exact} : f64
  %q = arith.mulf %a, %b {field.fused} : f64
  %s = arith.subf %c, %q {field.exact} : f64
  return %r, %s : f64, f64
}

// A copy of the product that a derivative uses too is rounded there.
// CHECK-LABEL: func.func @with_another_use
// CHECK-DAG: %[[P:.*]] = arith.mulf %arg0, %arg1 {field.exact}
// CHECK-DAG: %[[R:.*]] = math.fma %arg0, %arg1, %arg2
// CHECK: %[[T:.*]] = arith.addf %[[P]], %arg2 {field.derivative} : f32
// CHECK-NEXT: return %[[R]], %[[T]]
func.func @with_another_use(%a: f32, %b: f32, %c: f32) -> (f32, f32) {
  %p = arith.mulf %a, %b {field.fused} : f32
  %r = arith.addf %p, %c {field.exact} : f32
  %t = arith.addf %p, %c {field.derivative} : f32
  return %r, %t : f32, f32
}
