// RUN: mlirad-opt %s --lower-small-exponentials | filecheck %s
// RUN: mlirad-opt %s --lower-small-exponentials --lower-small-exponentials | filecheck %s

// CHECK-LABEL: func.func @less_one
// CHECK: %[[H:.*]] = arith.mulf %arg0, %{{.*}} : f32
// CHECK: %[[T:.*]] = math.tanh %[[H]]
// CHECK: %[[E:.*]] = math.exp %arg0
// CHECK: %[[S:.*]] = arith.addf %[[E]], %{{.*}} : f32
// CHECK: %[[R:.*]] = arith.mulf %[[T]], %[[S]]
// CHECK-NOT: math.expm1
// CHECK: return %[[R]]
func.func @less_one(%x: f32) -> f32 {
  %r = math.expm1 %x : f32
  return %r : f32
}

// CHECK-LABEL: func.func @of_vectors
// CHECK: math.tanh %{{.*}} : vector<8xf64>
// CHECK: math.exp %{{.*}} : vector<8xf64>
// CHECK-NOT: math.expm1
func.func @of_vectors(%x: vector<8xf64>) -> vector<8xf64> {
  %r = math.expm1 %x : vector<8xf64>
  return %r : vector<8xf64>
}
