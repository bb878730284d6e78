// RUN: mlirad-opt %s --lower-half-casts | filecheck %s
// RUN: mlirad-opt %s --lower-half-casts --lower-half-casts | filecheck %s
// RUN: mlirad-run %s --entry=half 1.00048828125000022 --lower-half-casts --lower-field-to-memref | filecheck %s --check-prefix=NUMBER

// A little more than the middle of two halves: rounded once, not twice by way of 32 bits.
// NUMBER: result 0 : float16
// NUMBER-NEXT: 1.001

// CHECK-LABEL: func.func @half
// CHECK: %[[N:.*]] = arith.truncf %[[X:.*]] : f64 to f32
// CHECK: %[[B:.*]] = arith.extf %[[N]] : f32 to f64
// CHECK-DAG: %[[A:.*]] = math.absf %[[B]] : f64
// CHECK-DAG: %[[S:.*]] = math.absf %[[X]] : f64
// CHECK: %[[L:.*]] = arith.cmpf ogt, %[[A]], %[[S]] : f64
// CHECK: %[[O:.*]] = arith.cmpf one, %[[B]], %[[X]] : f64
// CHECK: %[[W:.*]] = arith.bitcast %[[N]] : f32 to i32
// CHECK: %[[U:.*]] = arith.extui %[[L]] : i1 to i32
// CHECK: %[[M:.*]] = arith.subi %[[W]], %[[U]] : i32
// CHECK: %[[D:.*]] = arith.ori %[[M]], %{{.*}} : i32
// CHECK: %[[C:.*]] = arith.select %[[O]], %[[D]], %[[W]] : i32
// CHECK: %[[F:.*]] = arith.bitcast %[[C]] : i32 to f32
// CHECK: %[[H:.*]] = arith.truncf %[[F]] : f32 to f16
// CHECK: return %[[H]]
func.func @half(%x: f64) -> f16 {
  %0 = arith.truncf %x : f64 to f16
  return %0 : f16
}

// CHECK-LABEL: func.func @lanes
// CHECK: arith.truncf %{{.*}} : vector<8xf64> to vector<8xf32>
// CHECK: arith.select %{{.*}} : vector<8xi1>, vector<8xi32>
// CHECK: arith.truncf %{{.*}} : vector<8xf32> to vector<8xf16>
func.func @lanes(%x: vector<8xf64>) -> vector<8xf16> {
  %0 = arith.truncf %x : vector<8xf64> to vector<8xf16>
  return %0 : vector<8xf16>
}

// CHECK-LABEL: func.func @others
// CHECK-NOT: arith.bitcast
func.func @others(%x: f64, %y: f32) -> (f32, f16) {
  %0 = arith.truncf %x : f64 to f32
  %1 = arith.truncf %y : f32 to f16
  return %0, %1 : f32, f16
}

// CHECK-LABEL: func.func @brain
// CHECK: arith.ori
// CHECK: %[[F:.*]] = arith.bitcast %{{.*}} : i32 to f32
// CHECK: arith.truncf %[[F]] : f32 to bf16
func.func @brain(%x: f64) -> bf16 {
  %0 = arith.truncf %x : f64 to bf16
  return %0 : bf16
}
