// RUN: mlirad-opt %s --lower-integer-loops --canonicalize | filecheck %s
// RUN: mlirad-opt %s --lower-integer-loops --lower-integer-loops --canonicalize | filecheck %s
// RUN: mlirad-run %s --entry=signed -3 5 0.5 --check | filecheck %s --check-prefix=DERIVATIVES
// RUN: mlirad-run %s --entry=unsigned 4 0.5 --check | filecheck %s --check-prefix=DERIVATIVES
// RUN: mlirad-run %s --entry=none 0.5 --check | filecheck %s --check-prefix=DERIVATIVES
// RUN: mlirad-run %s --entry=none 0.5 | filecheck %s --check-prefix=NONE
// DERIVATIVES: all {{.*}} derivatives agree
// NONE: 0.5

// CHECK-LABEL: func.func @signed
// CHECK-DAG: %[[A:.*]] = arith.index_cast %arg0 : i8 to index
// CHECK-DAG: %[[B:.*]] = arith.index_cast %arg1 : i8 to index
// CHECK: scf.for %[[K:.*]] = %[[A]] to %[[B]] step %c2 iter_args
// CHECK-NEXT: arith.index_cast %[[K]] : index to i8
func.func @signed(%a: i8, %b: i8, %x: f64) -> f64 {
  %c2 = arith.constant 2 : i8
  %r = scf.for %i = %a to %b step %c2 iter_args(%s = %x) -> f64 : i8 {
    %g = arith.sitofp %i : i8 to f64
    %u = arith.mulf %s, %x : f64
    %t = arith.addf %u, %g : f64
    scf.yield %t : f64
  }
  return %r : f64
}

// A number without a sign is as large as it says.
// CHECK-LABEL: func.func @unsigned
// CHECK: arith.index_castui %arg0 : i32 to index
// CHECK-NOT: unsigned
func.func @unsigned(%n: i32, %x: f64) -> f64 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for unsigned %i = %c0 to %n step %c1 iter_args(%s = %x) -> f64 : i32 {
    %t = arith.mulf %s, %x : f64
    scf.yield %t : f64
  }
  return %r : f64
}

// -2 is a large number here, so there are no iterations.
// CHECK-LABEL: func.func @none
// CHECK-NOT: scf.for unsigned
func.func @none(%x: f64) -> f64 {
  %a = arith.constant -2 : index
  %b = arith.constant 5 : index
  %c1 = arith.constant 1 : index
  %r = scf.for unsigned %i = %a to %b step %c1 iter_args(%s = %x) -> f64 {
    %t = arith.mulf %s, %x : f64
    scf.yield %t : f64
  }
  return %r : f64
}
