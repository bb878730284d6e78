// RUN: mlirad-opt %s --expand-elementary | filecheck %s
// RUN: mlirad-opt %s --expand-elementary=library=true | filecheck %s --check-prefix=LIBRARY

// CHECK-LABEL: func.func @scalars
// CHECK-NOT: math.tanh
// CHECK-NOT: math.exp
// CHECK-NOT: math.log1p
// CHECK: arith.divf
// CHECK: math.copysign
// CHECK: return
// LIBRARY-LABEL: func.func @scalars
// LIBRARY-NOT: math.tanh
// LIBRARY: math.exp
// LIBRARY: math.log1p
func.func @scalars(%x: f32) -> (f32, f32, f32) {
  %0 = math.tanh %x : f32
  %1 = math.exp %x : f32
  %2 = math.log1p %x : f32
  return %0, %1, %2 : f32, f32, f32
}

// CHECK-LABEL: func.func @lanes
// CHECK: math.fma %{{.*}} : vector<8xf32>
// CHECK: arith.bitcast %{{.*}} : vector<8xf32> to vector<8xi32>
// CHECK-NOT: math.tanh
func.func @lanes(%x: vector<8xf32>) -> vector<8xf32> {
  %0 = math.tanh %x : vector<8xf32>
  return %0 : vector<8xf32>
}

// Other types are left alone.
// CHECK-LABEL: func.func @others
// CHECK: math.tanh %{{.*}} : f64
// CHECK: math.exp %{{.*}} : vector<4xf64>
func.func @others(%x: f64, %y: vector<4xf64>) -> (f64, vector<4xf64>) {
  %0 = math.tanh %x : f64
  %1 = math.exp %y : vector<4xf64>
  return %0, %1 : f64, vector<4xf64>
}
