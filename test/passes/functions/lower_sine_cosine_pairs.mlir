// RUN: mlirad-opt %s --lower-sine-cosine-pairs | filecheck %s
// RUN: mlirad-run %s 0.7 --check | filecheck %s --check-prefix=DERIVATIVES
// DERIVATIVES: all {{.*}} derivatives agree

// CHECK-LABEL: func.func @double
// CHECK: %[[S:.*]] = math.sin %arg0 fastmath<contract> : f64
// CHECK: %[[C:.*]] = math.cos %arg0 fastmath<contract> : f64
// CHECK: arith.mulf %[[S]], %[[C]]
func.func @double(%x: f64) -> f64 {
  %s, %c = math.sincos %x fastmath<contract> : f64
  %p = arith.mulf %s, %c : f64
  return %p : f64
}
