// RUN: mlirad-opt %s --lower-index-switches --canonicalize | filecheck %s
// RUN: mlirad-run %s 1 0.5 --check | filecheck %s --check-prefix=DERIVATIVES
// RUN: mlirad-run %s 7 0.5 --check | filecheck %s --check-prefix=DERIVATIVES
// DERIVATIVES: all {{.*}} derivatives agree

// Cases are asked for one after the other.
// CHECK-LABEL: func.func @choose
// CHECK: %[[A:.*]] = arith.cmpi eq, %arg0, %c1 : index
// CHECK: scf.if %[[A]] -> (f64) {
// CHECK-NEXT: math.sin
// CHECK: } else {
// CHECK-NEXT: %[[B:.*]] = arith.cmpi eq, %arg0, %c4 : index
// CHECK-NEXT: scf.if %[[B]] -> (f64) {
// CHECK-NEXT: math.exp
// CHECK: } else {
// CHECK-NEXT: math.cos
func.func @choose(%i: index, %x: f64) -> f64 {
  %r = scf.index_switch %i -> f64
  case 1 {
    %s = math.sin %x : f64
    scf.yield %s : f64
  }
  case 4 {
    %e = math.exp %x : f64
    scf.yield %e : f64
  }
  default {
    %c = math.cos %x : f64
    scf.yield %c : f64
  }
  return %r : f64
}
