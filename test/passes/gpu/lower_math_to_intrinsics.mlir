// RUN: mlirad-opt %s --lower-math-to-intrinsics | filecheck %s
// RUN: mlirad-opt %s --lower-math-to-intrinsics --lower-math-to-intrinsics | filecheck %s
// RUN: mlirad-opt %s --lower-math-to-intrinsics=target=amdgpu | filecheck %s --check-prefix=AMD

// CHECK-LABEL: func.func @exact
// CHECK: %[[ROOT:.*]] = llvm.call_intrinsic "llvm.sqrt"(%arg0) : (f32) -> f32
// CHECK-NEXT: llvm.call_intrinsic "llvm.fma"(%[[ROOT]], %arg0, %arg0)
// CHECK-NEXT: arith.divf
func.func @exact(%x: f32) -> f32 {
  %0 = math.sqrt %x : f32
  %1 = math.fma %0, %x, %x : f32
  %2 = arith.divf %1, %0 fastmath<arcp> : f32
  return %2 : f32
}

// CHECK-LABEL: func.func @left_for_a_library
// CHECK: math.sin %arg0 fastmath<contract>
func.func @left_for_a_library(%x: f32) -> f32 {
  %0 = math.sin %x fastmath<contract,afn> : f32
  return %0 : f32
}

// CHECK-LABEL: func.func @estimates
// CHECK: llvm.call_intrinsic "llvm.nvvm.sqrt.approx.f"(%arg0)
// CHECK: llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.f"(%arg0)
// CHECK: llvm.call_intrinsic "llvm.nvvm.div.full"(%arg0, %arg1)
// AMD-LABEL: func.func @estimates
// AMD-NOT: afn
// AMD: llvm.call_intrinsic "llvm.sqrt"(%arg0)
// AMD: arith.divf %arg0, %arg1 : f32
func.func @estimates(%x: f32, %y: f32) -> (f32, f32, f32) {
  %0 = math.sqrt %x fastmath<afn> : f32
  %1 = math.rsqrt %x fastmath<fast> : f32
  %2 = arith.divf %x, %y fastmath<arcp,afn> : f32
  return %0, %1, %2 : f32, f32, f32
}

// A division by a root is a product; so are those by one value, all in the same way.
// CHECK-LABEL: func.func @reciprocals
// CHECK: %[[OF_ROOT:.*]] = llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.f"(%arg0)
// CHECK: arith.mulf %arg1, %[[OF_ROOT]] fastmath<arcp,afn>
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.nvvm.div.full"(%{{.*}}, %arg1)
func.func @reciprocals(%x: f32, %y: f32) -> (f32, f32, f32) {
  %0 = math.sqrt %x fastmath<afn> : f32
  %1 = arith.divf %y, %0 fastmath<arcp,afn> : f32
  %2 = arith.divf %x, %y fastmath<arcp,afn> : f32
  %3 = arith.divf %1, %y fastmath<arcp,afn> : f32
  return %1, %2, %3 : f32, f32, f32
}

// The estimates of f64 have the digits of f32.
// CHECK-LABEL: func.func @doubles
// CHECK: llvm.call_intrinsic "llvm.sqrt"
// CHECK: arith.divf
// CHECK: %[[ROOT:.*]] = llvm.call_intrinsic "llvm.sqrt"(%arg0) : (f64) -> f64
// CHECK: arith.divf %{{.*}}, %[[ROOT]] : f64
func.func @doubles(%x: f64) -> (f64, f64) {
  %0 = math.sqrt %x fastmath<afn> : f64
  %1 = arith.divf %x, %0 fastmath<arcp,afn> : f64
  %2 = math.rsqrt %x fastmath<contract,afn> : f64
  return %1, %2 : f64, f64
}

// CHECK-LABEL: func.func @exact_reciprocal_root
// CHECK: llvm.call_intrinsic "llvm.sqrt"(%arg0) : (f32) -> f32
// CHECK: arith.divf
func.func @exact_reciprocal_root(%x: f32) -> f32 {
  %0 = math.rsqrt %x : f32
  return %0 : f32
}

// What is not below a normal number needs no care.
// CHECK-LABEL: func.func @normal
// CHECK: llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.ftz.f"
// CHECK: llvm.call_intrinsic "llvm.nvvm.sqrt.approx.f"
// CHECK: llvm.call_intrinsic "llvm.nvvm.sqrt.approx.f"
func.func @normal(%x: f32, %y: f32) -> (f32, f32, f32) {
  %small = arith.constant 1.0e-3 : f32
  %tiny = arith.constant 1.0e-40 : f32
  %0 = arith.mulf %x, %x : f32
  %1 = math.fma %y, %y, %0 : f32
  %2 = arith.addf %1, %small : f32
  %3 = math.rsqrt %2 fastmath<afn> : f32
  %4 = arith.addf %1, %tiny : f32
  %5 = math.sqrt %4 fastmath<afn> : f32
  %6 = arith.addf %x, %small : f32
  %7 = math.sqrt %6 fastmath<afn> : f32
  return %3, %5, %7 : f32, f32, f32
}

// LLVM has code for exponential functions of f32 for AMD's GPUs, and none for those of f64.
// CHECK-LABEL: func.func @exponentials
// CHECK-NOT: call_intrinsic
// AMD-LABEL: func.func @exponentials
// AMD: llvm.call_intrinsic "llvm.exp"(%arg0)
// AMD: llvm.call_intrinsic "llvm.log2"(%arg0)
// AMD: math.exp %arg1 : f64
func.func @exponentials(%x: f32, %y: f64) -> (f32, f32, f64) {
  %0 = math.exp %x fastmath<afn> : f32
  %1 = math.log2 %x fastmath<afn> : f32
  %2 = math.exp %y fastmath<afn> : f64
  return %0, %1, %2 : f32, f32, f64
}
