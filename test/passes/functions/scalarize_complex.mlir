// RUN: mlirad-opt %s --scalarize-complex --canonicalize | filecheck %s
// RUN: mlirad-opt %s --scalarize-complex --scalarize-complex --canonicalize | filecheck %s

// A public function takes memory for its numbers, with the real part first.
// CHECK-LABEL: func.func @public(
// CHECK-SAME: %[[Z:.*]]: memref<2xf64> {field.complex_argument}, %[[S:.*]]: f64,
// CHECK-SAME: %[[R:.*]]: memref<2xf64> {field.complex_result = 1 : i64}) -> f64
// CHECK-DAG: %[[X:.*]] = memref.load %[[Z]][%c0]
// CHECK-DAG: %[[Y:.*]] = memref.load %[[Z]][%c1]
// CHECK-DAG: %[[U:.*]] = arith.addf %[[X]], %[[S]]
// CHECK: memref.store %[[U]], %[[R]][%c0]
// CHECK: memref.store %[[Y]], %[[R]][%c1]
// CHECK: return %[[S]]
func.func @public(%z: complex<f64>, %s: f64) -> (f64, complex<f64>) {
  %0 = arith.constant -0.0 : f64
  %1 = complex.create %s, %0 : complex<f64>
  %2 = complex.add %z, %1 : complex<f64>
  return %s, %2 : f64, complex<f64>
}

// CHECK-LABEL: func.func private @product(
// CHECK-SAME: %[[X:.*]]: f32, %[[Y:.*]]: f32, %[[U:.*]]: f32, %[[V:.*]]: f32) -> (f32, f32)
// CHECK-DAG: %[[XU:.*]] = arith.mulf %[[X]], %[[U]]
// CHECK-DAG: %[[YV:.*]] = arith.mulf %[[Y]], %[[V]]
// CHECK-DAG: %[[YU:.*]] = arith.mulf %[[Y]], %[[U]]
// CHECK-DAG: %[[XV:.*]] = arith.mulf %[[X]], %[[V]]
// CHECK-DAG: %[[A:.*]] = arith.subf %[[XU]], %[[YV]]
// CHECK-DAG: %[[B:.*]] = arith.addf %[[YU]], %[[XV]]
// CHECK: return %[[A]], %[[B]]
func.func private @product(%z: complex<f32>, %w: complex<f32>) -> complex<f32> {
  %0 = complex.mul %z, %w : complex<f32>
  return %0 : complex<f32>
}

// Memory has floats, and a last axis of two.
// CHECK-LABEL: func.func @memory(
// CHECK-SAME: %[[M:.*]]: memref<?x4x2xf32> {field.complex_argument}, %[[I:.*]]: index, %{{.*}}: memref<2xf32> {field.complex_argument})
// CHECK: %[[V:.*]] = memref.subview %[[M]][%[[I]], 0, 0] [1, 4, 2] [1, 1, 1] : memref<?x4x2xf32> to memref<4x2xf32, strided<[2, 1], offset: ?>>
// CHECK: %[[X:.*]] = memref.load %[[V]][%[[I]], %c0]
// CHECK: %[[Y:.*]] = memref.load %[[V]][%[[I]], %c1]
// CHECK: %[[R:.*]]:2 = call @product(%[[X]], %[[Y]], %{{.*}}, %{{.*}}) : (f32, f32, f32, f32) -> (f32, f32)
// CHECK: memref.store %[[R]]#0, %[[V]][%[[I]], %c0]
// CHECK: memref.store %[[R]]#1, %[[V]][%[[I]], %c1]
func.func @memory(%m: memref<?x4xcomplex<f32>>, %i: index, %z: complex<f32>) {
  %v = memref.subview %m[%i, 0] [1, 4] [1, 1] : memref<?x4xcomplex<f32>> to memref<4xcomplex<f32>, strided<[1], offset: ?>>
  %0 = memref.load %v[%i] : memref<4xcomplex<f32>, strided<[1], offset: ?>>
  %1 = call @product(%0, %z) : (complex<f32>, complex<f32>) -> complex<f32>
  memref.store %1, %v[%i] : memref<4xcomplex<f32>, strided<[1], offset: ?>>
  return
}

// CHECK-LABEL: func.func @loop(
// CHECK: scf.for %{{.*}} iter_args(%[[X:.*]] = %{{.*}}, %[[Y:.*]] = %{{.*}}) -> (f64, f64)
// CHECK: %[[N:.*]] = arith.negf %[[Y]]
// CHECK: scf.yield %[[N]], %[[X]]
func.func @loop(%n: index, %z: complex<f64>) -> complex<f64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%w = %z) -> complex<f64> {
    %x = complex.re %w : complex<f64>
    %y = complex.im %w : complex<f64>
    %m = arith.negf %y : f64
    %v = complex.create %m, %x : complex<f64>
    scf.yield %v : complex<f64>
  }
  return %0 : complex<f64>
}

// A magnitude is that of its parts, scaled: no square overflows.
// CHECK-LABEL: func.func @magnitude(
// CHECK: arith.divf
// CHECK: %[[R:.*]] = math.sqrt
// CHECK: arith.mulf %{{.*}}, %[[R]] : f64
func.func @magnitude(%z: complex<f64>) -> f64 {
  %0 = complex.abs %z : complex<f64>
  return %0 : f64
}
