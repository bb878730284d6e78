// RUN: mlirad-opt %s --lower-integer-powers | filecheck %s
// RUN: mlirad-run %s -1.25 3 --check | filecheck %s --check-prefix=DERIVATIVES
// RUN: mlirad-run %s -1.25 -2 --check | filecheck %s --check-prefix=DERIVATIVES
// DERIVATIVES: all {{.*}} derivatives agree

// An exponent that only a run knows stays.
// CHECK-LABEL: func.func @powers
// CHECK: %[[N:.*]] = arith.constant -3.000000e+00 : f64
// CHECK: math.powf %arg0, %[[N]] fastmath<contract> : f64
// CHECK: math.fpowi %arg0, %arg1 : f64, i32
func.func @powers(%x: f64, %k: i32) -> (f64, f64) {
  %n = arith.constant -3 : i32
  %a = math.fpowi %x, %n fastmath<contract> : f64, i32
  %b = math.fpowi %x, %k : f64, i32
  return %a, %b : f64, f64
}
