// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --scalarize-complex

func.func @unknown(%z: complex<f32>) {
  // expected-error @+1 {{'complex.bitcast' of complex numbers, which scalarize-complex does not know}}
  %0 = complex.bitcast %z : complex<f32> to i64
  return
}

// -----

func.func @atan2(%z: complex<f32>) {
  // expected-error @+1 {{'complex.atan2' of complex numbers, which scalarize-complex does not know}}
  %0 = complex.atan2 %z, %z : complex<f32>
  return
}

// -----

// expected-error @+1 {{'func.func' of complex<i32>, expected complex numbers of floats}}
func.func @integers(%z: complex<i32>) {
  return
}

// -----

// expected-error @+1 {{'func.func' of tensor<4xcomplex<f32>>, expected no complex numbers within another type}}
func.func @tensor(%z: tensor<4xcomplex<f32>>) {
  return
}

// -----

func.func @transposed(%m: memref<2x3xcomplex<f32>>) {
  // expected-error @+1 {{'memref.transpose' of memory of complex numbers, which scalarize-complex does not know}}
  %0 = memref.transpose %m (i, j) -> (j, i) : memref<2x3xcomplex<f32>> to memref<3x2xcomplex<f32>, strided<[1, 3]>>
  return
}

// -----

func.func @reduction(%n: index, %z: complex<f32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%z) -> complex<f32> {
    // expected-error @+1 {{'scf.reduce' of complex numbers, which scalarize-complex does not know}}
    scf.reduce(%z : complex<f32>) {
    ^bb0(%a: complex<f32>, %b: complex<f32>):
      %c = complex.add %a, %b : complex<f32>
      scf.reduce.return %c : complex<f32>
    }
  }
  return
}

// -----

// expected-error @+1 {{a function without a body that takes or gives complex numbers}}
func.func private @declared(memref<2xcomplex<f32>>)
