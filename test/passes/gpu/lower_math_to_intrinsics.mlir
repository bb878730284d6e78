// RUN: mlirad-opt %s --lower-math-to-intrinsics | filecheck %s
// RUN: mlirad-opt %s --lower-math-to-intrinsics --lower-math-to-intrinsics | filecheck %s

// CHECK-LABEL: func.func @exact
// CHECK: %[[ROOT:.*]] = llvm.call_intrinsic "llvm.sqrt"(%arg0) : (f32) -> f32
// CHECK-NEXT: llvm.call_intrinsic "llvm.fma"(%[[ROOT]], %arg0, %arg0)
func.func @exact(%x: f32) -> f32 {
  %0 = math.sqrt %x : f32
  %1 = math.fma %0, %x, %x : f32
  return %1 : f32
}

// CHECK-LABEL: func.func @left_for_a_library
// CHECK: math.sin
func.func @left_for_a_library(%x: f32) -> f32 {
  %0 = math.sin %x : f32
  return %0 : f32
}
