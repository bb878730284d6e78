// RUN: mlirad-opt %s --inline-custom-gradients | filecheck %s
// RUN: mlirad-opt %s --inline-custom-gradients --inline-custom-gradients | filecheck %s

// CHECK-LABEL: func.func @value
// CHECK-NOT: grad.custom
// CHECK: %[[S:.*]] = scf.for
// CHECK: %[[V:.*]] = math.sin %{{.*}} {field.exact} : f32
// CHECK-NOT: math.cos
// CHECK: scf.yield %[[V]]
// CHECK: return %[[S]]
func.func @value(%x: f32, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = scf.for %k = %c0 to %n step %c1 iter_args(%v = %x) -> f32 {
    %r = "grad.custom"(%v) ({
    ^bb0(%a: f32):
      %y = math.sin %a : f32
      "grad.yield"(%y) : (f32) -> ()
    }, {
    ^bb0(%a: f32, %y: f32, %d: f32):
      %c = math.cos %a : f32
      "grad.yield"(%c) : (f32) -> ()
    }, {
    }) {function = "f", operandSegmentSizes = array<i32: 1, 0>} : (f32) -> f32
    scf.yield %r : f32
  }
  return %s : f32
}

// CHECK-LABEL: func.func @nested(%arg0: f32) -> (f32, f32)
// CHECK-NEXT: %[[Y:.*]] = math.exp %arg0 {field.exact} : f32
// CHECK-NEXT: return %[[Y]], %arg0
func.func @nested(%x: f32) -> (f32, f32) {
  %r:2 = "grad.custom"(%x) ({
  ^bb0(%a: f32):
    %y = "grad.custom"(%a) ({
    ^bb0(%b: f32):
      %z = math.exp %b : f32
      "grad.yield"(%z) : (f32) -> ()
    }, {
    }, {
    }) {function = "inner", operandSegmentSizes = array<i32: 1, 0>} : (f32) -> f32
    "grad.yield"(%y, %a) : (f32, f32) -> ()
  }, {
  }, {
  }) {function = "outer", operandSegmentSizes = array<i32: 1, 0>} : (f32) -> (f32, f32)
  return %r#0, %r#1 : f32, f32
}
