// RUN: mlirad-opt %s --lower-floor-divisions | filecheck %s
// RUN: mlirad-opt %s --lower-floor-divisions --lower-floor-divisions | filecheck %s

// CHECK-LABEL: func.func @power_of_two
// CHECK: %[[K:.*]] = arith.constant 3 : i32
// CHECK-NEXT: %[[Q:.*]] = arith.shrsi %arg0, %[[K]]
// CHECK: return %[[Q]]
func.func @power_of_two(%x: i32) -> i32 {
  %c8 = arith.constant 8 : i32
  %q = arith.floordivsi %x, %c8 : i32
  return %q : i32
}

// CHECK-LABEL: func.func @positive
// CHECK: %[[TOP:.*]] = arith.constant 63 : i64
// CHECK-NEXT: %[[S:.*]] = arith.shrsi %arg0, %[[TOP]]
// CHECK-NEXT: %[[P:.*]] = arith.xori %arg0, %[[S]]
// CHECK-NEXT: %[[TEN:.*]] = arith.constant 10 : i64
// CHECK-NEXT: %[[D:.*]] = arith.divui %[[P]], %[[TEN]]
// CHECK-NEXT: %[[Q:.*]] = arith.xori %[[D]], %[[S]]
// CHECK: return %[[Q]]
func.func @positive(%x: i64) -> i64 {
  %c10 = arith.constant 10 : i64
  %q = arith.floordivsi %x, %c10 : i64
  return %q : i64
}

// Others are upstream's.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-2: arith.floordivsi
func.func @others(%x: i32, %y: i32) -> (i32, i32) {
  %minus = arith.constant -8 : i32
  %q = arith.floordivsi %x, %minus : i32
  %r = arith.floordivsi %x, %y : i32
  return %q, %r : i32, i32
}

// Of 8 bits, by the reciprocal: 2097152 / 3, rounded up, of what is no longer negative.
// CHECK-LABEL: func.func @narrow
// CHECK: %[[W:.*]] = arith.extsi %arg0 : i8 to i32
// CHECK-NEXT: arith.constant 384 : i32
// CHECK: arith.constant 699051 : i32
// CHECK: arith.trunci %{{.*}} : i32 to i8
func.func @narrow(%x: i8) -> i8 {
  %c3 = arith.constant 3 : i8
  %q = arith.floordivsi %x, %c3 : i8
  return %q : i8
}
