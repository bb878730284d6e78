// RUN: mlirad-opt %s --lower-field-random | filecheck %s
// RUN: mlirad-opt %s --lower-field-random --lower-field-random | filecheck %s

// CHECK-LABEL: func.func @float_of_24_bits
// CHECK: arith.muli %arg0,
// CHECK: arith.muli %arg1,
// CHECK: arith.muli %arg2,
// CHECK: %[[DROPPED:.*]] = arith.constant 40 : i64
// CHECK: %[[TOP:.*]] = arith.shrui %{{.*}}, %[[DROPPED]] : i64
// CHECK: %[[WHOLE:.*]] = arith.uitofp %[[TOP]] : i64 to f32
// CHECK: arith.mulf %[[WHOLE]],
func.func @float_of_24_bits(%launch: i64, %iteration: i64, %draw: i64) -> f32 {
  %r = "field.random"(%launch, %iteration, %draw) : (i64, i64, i64) -> f32
  return %r : f32
}

// CHECK-LABEL: func.func @integer_of_high_bits
// CHECK: %[[DROPPED:.*]] = arith.constant 32 : i64
// CHECK: %[[TOP:.*]] = arith.shrui %{{.*}}, %[[DROPPED]] : i64
// CHECK: arith.trunci %[[TOP]] : i64 to i32
func.func @integer_of_high_bits(%n: i64) -> i32 {
  %r = "field.random"(%n, %n, %n) : (i64, i64, i64) -> i32
  return %r : i32
}
