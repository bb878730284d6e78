// RUN: mlirad-opt %s --expand-derivatives --canonicalize --cse | filecheck %s
// RUN: mlirad-opt %s --expand-derivatives --expand-derivatives --canonicalize --cse | filecheck %s

// Values come first, then the tangents.
// CHECK-LABEL: func.func @square
// CHECK-SAME: (%[[x:.*]]: f64, %[[t:.*]]: f64)
// CHECK-NEXT: %[[y:.*]] = arith.mulf %[[x]], %[[x]]
// CHECK-NEXT: %[[p:.*]] = arith.mulf %[[t]], %[[x]]
// CHECK-NEXT: %[[s:.*]] = arith.addf %[[p]], %[[p]]
// CHECK-NEXT: return %[[y]], %[[s]]
func.func @square(%x: f64, %t: f64) -> (f64, f64) {
  %y:2 = "grad.dual"(%x, %t) ({
  ^bb0(%a: f64):
    %b = arith.mulf %a, %a : f64
    "grad.yield"(%b) : (f64) -> ()
  }) {directions = 1} : (f64, f64) -> (f64, f64)
  return %y#0, %y#1 : f64, f64
}

// Two directions of two arguments: results, then their tangents along the first, then along the second. What is made of
// tangents that are 0 is not computed.
// CHECK-LABEL: func.func @gradient_of_a_product
// CHECK-SAME: (%[[x:.*]]: f32, %[[y:.*]]: f32)
// CHECK-NEXT: return %[[y]], %[[x]]
func.func @gradient_of_a_product(%x: f32, %y: f32) -> (f32, f32) {
  %one = arith.constant 1.0 : f32
  %zero = arith.constant 0.0 : f32
  %r:3 = "grad.dual"(%x, %y, %one, %zero, %zero, %one) ({
  ^bb0(%a: f32, %b: f32):
    %s = arith.mulf %a, %b : f32
    "grad.yield"(%s) : (f32) -> ()
  }) {directions = 2} : (f32, f32, f32, f32, f32, f32) -> (f32, f32, f32)
  return %r#1, %r#2 : f32, f32
}

// What comes from outside is constant, and a result without a tangent has the tangent 0.
// CHECK-LABEL: func.func @constant
// CHECK-SAME: (%[[x:.*]]: f64, %[[c:.*]]: f64)
// CHECK: %[[zero:.*]] = arith.constant 0.0
// CHECK-NEXT: return %[[c]], %[[zero]]
func.func @constant(%x: f64, %c: f64) -> (f64, f64) {
  %r:2 = "grad.dual"(%x, %x) ({
  ^bb0(%a: f64):
    "grad.yield"(%c) : (f64) -> ()
  }) {directions = 1} : (f64, f64) -> (f64, f64)
  return %r#0, %r#1 : f64, f64
}

// The second derivative of x * x is 2.
// CHECK-LABEL: func.func @nested
// CHECK: %[[two:.*]] = arith.constant 2.0
// CHECK-NOT: grad.dual
// CHECK: return %[[two]]
func.func @nested(%x: f64) -> f64 {
  %one = arith.constant 1.0 : f64
  %r:2 = "grad.dual"(%x, %one) ({
  ^bb0(%a: f64):
    %i:2 = "grad.dual"(%a, %one) ({
    ^bb1(%b: f64):
      %s = arith.mulf %b, %b : f64
      "grad.yield"(%s) : (f64) -> ()
    }) {directions = 1} : (f64, f64) -> (f64, f64)
    "grad.yield"(%i#1) : (f64) -> ()
  }) {directions = 1} : (f64, f64) -> (f64, f64)
  return %r#1 : f64
}

// Loops carry tangents beside their values.
// CHECK-LABEL: func.func @power
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) -> (f64, f64)
func.func @power(%x: f64, %t: f64, %n: index) -> f64 {
  %zero = arith.constant 0 : index
  %step = arith.constant 1 : index
  %r:2 = "grad.dual"(%x, %t) ({
  ^bb0(%a: f64):
    %one = arith.constant 1.0 : f64
    %p = scf.for %i = %zero to %n step %step iter_args(%q = %one) -> (f64) {
      %m = arith.mulf %q, %a : f64
      scf.yield %m : f64
    }
    "grad.yield"(%p) : (f64) -> ()
  }) {directions = 1} : (f64, f64) -> (f64, f64)
  return %r#1 : f64
}
