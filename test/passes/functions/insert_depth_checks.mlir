// RUN: mlirad-opt %s --insert-depth-checks | filecheck %s
// RUN: mlirad-opt %s --insert-depth-checks | mlirad-opt - | filecheck %s

// CHECK-LABEL: func.func private @power(
// CHECK-SAME: %[[DEPTH:[a-z0-9]*]]: index) -> f64
// CHECK: %[[FITS:.*]] = arith.cmpi slt, %[[DEPTH]], %{{.*}} : index
// CHECK: field.assert %[[FITS]], "'power' calls itself more than 1024 calls deep"
// CHECK: %[[R:.*]] = scf.if %[[FITS]] -> (f64)
// CHECK: %[[MORE:.*]] = arith.addi %[[DEPTH]],
// CHECK: func.call @power(%{{.*}}, %{{.*}}, %[[MORE]])
// CHECK: } else {
// CHECK-NEXT: arith.constant 0x7FF8000000000000 : f64
// CHECK: return %[[R]]
func.func private @power(%x: f64, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f64
  %ends = arith.cmpi eq, %n, %c0 : index
  %r = scf.if %ends -> f64 {
    scf.yield %one : f64
  } else {
    %m = arith.subi %n, %c1 : index
    %p = func.call @power(%x, %m) : (f64, index) -> f64
    %q = arith.mulf %p, %x : f64
    scf.yield %q : f64
  }
  return %r : f64
}

// What calls no function that calls it stays as it is.
// CHECK-LABEL: func.func private @square(
// CHECK-NEXT: mulf
// CHECK-NEXT: return
func.func private @square(%x: f64) -> f64 {
  %y = arith.mulf %x, %x : f64
  return %y : f64
}

// CHECK-LABEL: func.func @cube
// CHECK: call @square(%{{.*}}) : (f64) -> f64
// CHECK: %[[NONE:.*]] = arith.constant 0 : index
// CHECK: call @power(%{{.*}}, %{{.*}}, %[[NONE]]) : (f64, index, index) -> f64
func.func @cube(%x: f64) -> f64 {
  %c3 = arith.constant 3 : index
  %s = func.call @square(%x) : (f64) -> f64
  %y = func.call @power(%x, %c3) : (f64, index) -> f64
  %t = arith.subf %y, %s : f64
  return %t : f64
}
