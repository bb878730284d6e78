// RUN: mlirad-opt %s --irdl-file=%S/../../mlir/foreign/sample.irdl --inline-foreign-calls | filecheck %s
// RUN: mlirad-opt %s --irdl-file=%S/../../mlir/foreign/sample.irdl --inline-foreign-calls --inline-foreign-calls | filecheck %s
// RUN: mlirad-run %s random:8xf64 --entry=outer --irdl-file=%S/../../mlir/foreign/sample.irdl --rules=%S/../../mlir/foreign/sample_rules.py --check | filecheck %s --check-prefix=DERIVATIVES
// DERIVATIVES: all {{.*}} derivatives agree

// A function that holds such an op, and one that calls it.
// CHECK-LABEL: func.func private @swish
// CHECK: sample.swish
func.func private @swish(%x: f64) -> f64 {
  %y = "sample.swish"(%x) : (f64) -> f64
  return %y : f64
}
// CHECK-LABEL: func.func private @twice
// CHECK-NOT: call @swish
// CHECK: sample.swish
// CHECK: sample.swish
func.func private @twice(%x: f64) -> f64 {
  %y = func.call @swish(%x) : (f64) -> f64
  %z = func.call @swish(%y) : (f64) -> f64
  return %z : f64
}
// CHECK-LABEL: func.func @outer
// CHECK-NOT: call @twice
// CHECK: sample.swish
// CHECK: sample.swish
// CHECK: call @plain
func.func @outer(%m: memref<8xf64>) {
  affine.for %i = 0 to 8 {
    %x = affine.load %m[%i] : memref<8xf64>
    %y = func.call @twice(%x) : (f64) -> f64
    %z = func.call @plain(%y) : (f64) -> f64
    affine.store %z, %m[%i] : memref<8xf64>
  }
  return
}

// Others are upstream's to inline.
func.func private @plain(%x: f64) -> f64 {
  %y = math.sin %x : f64
  return %y : f64
}

// Recursion stays.
// CHECK-LABEL: func.func private @recursive
// CHECK: call @recursive
func.func private @recursive(%x: f64, %go: i1) -> f64 {
  %r = scf.if %go -> f64 {
    %false = arith.constant false
    %y = "sample.swish"(%x) : (f64) -> f64
    %z = func.call @recursive(%y, %false) : (f64, i1) -> f64
    scf.yield %z : f64
  } else {
    scf.yield %x : f64
  }
  return %r : f64
}

// A function that is called within a rule, and one that it calls.
func.func private @half(%x: f64) -> f64 {
  %h = arith.constant 0.5 : f64
  %y = arith.mulf %x, %h : f64
  return %y : f64
}
func.func private @quarter(%x: f64) -> f64 {
  %y = func.call @half(%x) : (f64) -> f64
  %z = func.call @half(%y) : (f64) -> f64
  return %z : f64
}
// CHECK-LABEL: func.func @in_a_rule
// CHECK-NOT: call
// CHECK: grad.custom
// CHECK-NOT: call
// CHECK: return
func.func @in_a_rule(%x: f64) -> f64 {
  %y = "grad.custom"(%x) ({
  ^bb0(%a: f64):
    %b = func.call @quarter(%a) : (f64) -> f64
    "grad.yield"(%b) : (f64) -> ()
  }, {}, {}) {function = "f", operandSegmentSizes = array<i32: 1, 0>} : (f64) -> f64
  return %y : f64
}
