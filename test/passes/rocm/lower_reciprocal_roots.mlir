// RUN: mlirad-opt %s --lower-reciprocal-roots | filecheck %s
// RUN: mlirad-opt %s --lower-reciprocal-roots --lower-reciprocal-roots | filecheck %s

// The instruction takes what lies below 2⁻¹²⁶ for 0: times 2²⁴, and its result times 2¹².
// CHECK-LABEL: func.func @estimate
// CHECK-DAG: %[[LEAST:.*]] = arith.constant 1.17549435E-38 : f32
// CHECK: %[[SMALL:.*]] = arith.cmpf olt, %arg0, %[[LEAST]]
// CHECK: %[[FACTOR:.*]] = arith.select %[[SMALL]], %{{.*}}, %{{.*}} : f32
// CHECK: %[[NUMBER:.*]] = arith.mulf %arg0, %[[FACTOR]]
// CHECK: %[[ROOT:.*]] = llvm.call_intrinsic "llvm.amdgcn.rsq"(%[[NUMBER]])
// CHECK: %[[BACK:.*]] = arith.select %[[SMALL]]
// CHECK: %[[RESULT:.*]] = arith.mulf %[[ROOT]], %[[BACK]]
// CHECK: return %[[RESULT]]
func.func @estimate(%x: f32) -> f32 {
  %0 = math.rsqrt %x fastmath<afn> : f32
  return %0 : f32
}

// CHECK-LABEL: func.func @quotient
// CHECK: llvm.call_intrinsic "llvm.amdgcn.rsq"
// CHECK: arith.mulf %arg1, %{{.*}} fastmath<afn>
// CHECK-NOT: arith.divf
func.func @quotient(%x: f32, %y: f32) -> f32 {
  %0 = math.sqrt %x fastmath<afn> : f32
  %1 = arith.divf %y, %0 fastmath<afn> : f32
  return %1 : f32
}

// What certainly is a normal number needs no factor.
// CHECK-LABEL: func.func @normal
// CHECK-NOT: arith.select
// CHECK: llvm.call_intrinsic "llvm.amdgcn.rsq"(%{{.*}})
func.func @normal(%x: f32) -> f32 {
  %c = arith.constant 0.1 : f32
  %0 = arith.mulf %x, %x : f32
  %1 = arith.addf %0, %c : f32
  %2 = math.rsqrt %1 fastmath<afn> : f32
  return %2 : f32
}

// CHECK-LABEL: func.func @exact
// CHECK: math.rsqrt %arg0 : f32
// CHECK: math.rsqrt %arg1 fastmath<afn> : f64
// CHECK: arith.divf %{{.*}}, %{{.*}} : f32
// CHECK-NOT: amdgcn
func.func @exact(%x: f32, %y: f64) -> (f32, f64, f32) {
  %0 = math.rsqrt %x : f32
  %1 = math.rsqrt %y fastmath<afn> : f64
  %2 = math.sqrt %x : f32
  %3 = arith.divf %x, %2 : f32
  return %0, %1, %3 : f32, f64, f32
}
