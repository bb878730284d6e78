// RUN: mlirad-opt %s --irdl-file=%S/../../mlir/foreign/sample.irdl --rules=%S/../../mlir/foreign/sample_rules.py --lower-foreign-ops | filecheck %s
// RUN: mlirad-opt %s --irdl-file=%S/../../mlir/foreign/sample.irdl --rules=%S/../../mlir/foreign/sample_rules.py --lower-foreign-ops --lower-foreign-ops | filecheck %s
// RUN: mlirad-run %s random:8xf64 --entry=by_terms --irdl-file=%S/../../mlir/foreign/sample.irdl --rules=%S/../../mlir/foreign/sample_rules.py --check | filecheck %s --check-prefix=DERIVATIVES
// DERIVATIVES: all {{.*}} derivatives agree

// The lowering is the value; then come the transposed derivative and the derivative.
// CHECK-LABEL: func.func @by_terms
// CHECK: grad.custom
// CHECK: arith.divf
// CHECK: grad.yield
// CHECK: ^bb0(%{{.*}}: f64, %{{.*}}: f64, %{{.*}}: f64):
// CHECK: grad.yield
// CHECK: ^bb0(%{{.*}}: f64, %{{.*}}: f64, %{{.*}}: f64):
// CHECK: grad.yield
// CHECK: function = "sample.swish"
// CHECK-NOT: sample.swish"(
func.func @by_terms(%m: memref<8xf64>) {
  affine.for %i = 0 to 8 {
    %x = affine.load %m[%i] : memref<8xf64>
    %y = "sample.swish"(%x) : (f64) -> f64
    affine.store %y, %m[%i] : memref<8xf64>
  }
  return
}

// A linear map of several results: its transpose is derived.
// CHECK-LABEL: func.func @by_a_map
// CHECK: math.sqrt
// CHECK: math.atan2
// CHECK: grad.yield
// CHECK: grad.yield
// CHECK: grad.yield
// CHECK: function = "sample.polar"
func.func @by_a_map(%x: f32, %y: f32) -> (f32, f32) {
  %radius, %angle = "sample.polar"(%x, %y) : (f32, f32) -> (f32, f32)
  return %radius, %angle : f32, f32
}

// An op without a derivative of its own has that of its lowering.
// CHECK-LABEL: func.func @lowered
// CHECK-NEXT: math.sqrt
func.func @lowered(%x: f64) -> f64 {
  %y = "sample.root"(%x) : (f64) -> f64
  return %y : f64
}

// A constant.
// CHECK-LABEL: func.func @constant
// CHECK: grad.custom
// CHECK: arith.constant 0.0
// CHECK: arith.cmpf ogt
// CHECK: arith.select
func.func @constant(%x: f64) -> f64 {
  %y = "sample.steps"(%x) : (f64) -> f64
  return %y : f64
}

// Integers stand behind floats, as i64.
// CHECK-LABEL: func.func @with_integers
// CHECK: arith.extui %{{.*}} : i32 to i64
// CHECK: grad.custom
// CHECK: arith.trunci
// CHECK: array<i32: 1, 2>
func.func @with_integers(%k: i32, %x: f64, %flag: i32) -> f64 {
  %y = "sample.scaled"(%k, %x, %flag) : (i32, f64, i32) -> f64
  return %y : f64
}

// What nothing is registered for stays.
// CHECK-LABEL: func.func @unruled
// CHECK: "sample.unruled"
func.func @unruled(%x: f64) -> f64 {
  %y = "sample.unruled"(%x) : (f64) -> f64
  return %y : f64
}
