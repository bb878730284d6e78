// RUN: mlirad-opt %s --insert-fast-math=flags=reassoc+contract | filecheck %s

// CHECK-LABEL: func.func @float_operations
// CHECK: arith.addf %{{.*}} fastmath<reassoc,contract>
// CHECK: math.sin %{{.*}} fastmath<reassoc,contract>
func.func @float_operations(%a: f32) -> f32 {
  %0 = arith.addf %a, %a : f32
  %1 = math.sin %0 : f32
  return %1 : f32
}

// CHECK-LABEL: func.func @comparisons_keep_nan
// CHECK-NOT: fastmath
// CHECK: return
func.func @comparisons_keep_nan(%a: f32, %i: i32) -> f32 {
  %0 = arith.cmpf uno, %a, %a : f32
  %1 = arith.sitofp %i : i32 to f32
  %2 = arith.select %0, %a, %1 : f32
  return %2 : f32
}
