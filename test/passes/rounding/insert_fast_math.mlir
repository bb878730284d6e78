// RUN: mlirad-opt %s --insert-fast-math=flags=reassoc+contract+arcp | filecheck %s
// RUN: mlirad-opt %s --insert-fast-math=flags=reassoc+contract+arcp --insert-fast-math=flags=reassoc+contract+arcp | filecheck %s
// RUN: mlirad-opt %s --insert-fast-math=signed-divisors=true | filecheck %s --check-prefix=SIGNS

// CHECK-LABEL: func.func @float_operations
// CHECK: arith.addf %{{.*}} fastmath<reassoc,arcp,contract>
// CHECK: math.sin %{{.*}} fastmath<reassoc,arcp,contract>
func.func @float_operations(%a: f32) -> f32 {
  %0 = arith.addf %a, %a {field.derivative} : f32
  %1 = math.sin %0 {field.derivative} : f32
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

// The estimate of 1/sqrt is NaN at 0, so it is used only where the radicand is raised above 0.

// CHECK-LABEL: func.func @reciprocal_roots
// CHECK: arith.divf %{{.*}}, %[[ROOT:.*]] fastmath<reassoc,contract>
// CHECK: arith.divf %{{.*}}, %{{.*}} fastmath<reassoc,arcp,contract>
func.func @reciprocal_roots(%a: f32) -> (f32, f32) {
  %eps = arith.constant 1.0e-3 : f32
  %0 = math.sqrt %a {field.derivative} : f32
  %1 = arith.divf %a, %0 {field.derivative} : f32
  %2 = arith.addf %a, %eps {field.derivative} : f32
  %3 = math.sqrt %2 {field.derivative} : f32
  %4 = arith.divf %a, %3 {field.derivative} : f32
  return %1, %4 : f32, f32
}

// 1 - x * x may be written -(x * x - 1), which is -0 at 1, and its quotient the other infinity.

// SIGNS-LABEL: func.func @ends_of_a_domain
// SIGNS: arith.mulf %{{.*}} fastmath<reassoc,arcp,contract,afn>
// SIGNS: arith.subf %{{.*}} fastmath<reassoc,arcp,contract,afn>
// SIGNS: math.sqrt %{{.*}} fastmath<reassoc,arcp,contract,afn>
// SIGNS: arith.divf %{{.*}} fastmath<reassoc,nsz,contract>
func.func @ends_of_a_domain(%x: f64) -> f64 {
  %one = arith.constant 1.0 : f64
  %0 = arith.mulf %x, %x {field.derivative} : f64
  %1 = arith.subf %one, %0 {field.derivative} : f64
  %2 = math.sqrt %1 {field.derivative} : f64
  %3 = arith.divf %one, %2 {field.derivative} : f64
  return %3 : f64
}
