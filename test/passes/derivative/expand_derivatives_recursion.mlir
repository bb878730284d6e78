// RUN: mlirad-opt %s --expand-derivatives=recursion=true | filecheck %s
// RUN: mlirad-opt %s --expand-derivatives | filecheck %s --check-prefix=PLAIN

// A public function that calls itself has a private copy, and derivatives where that is called.
// CHECK-LABEL: func.func @power(
// CHECK: "grad.custom"
// CHECK: func.call @power.called(
// CHECK: func.call @power.called.vjp(
// CHECK: func.call @power.called.jvp(
// CHECK: {function = "power.called"
// CHECK: func.func private @power.called(
// CHECK-NOT: grad.custom
// CHECK: func.call @power.called(
// CHECK: func.func private @power.called.jvp(
// CHECK: func.func private @power.called.vjp(
// PLAIN-LABEL: func.func @power(
// PLAIN-NOT: grad.custom
// PLAIN: func.call @power(
// PLAIN-NOT: func.func
func.func @power(%x: f64, %n: index) -> f64 {
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
