// RUN: mlirad-opt %s --lower-parallel-to-workers --verify-diagnostics --split-input-file

func.func @two_axes() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  // expected-error @+1 {{a parallel loop, expected one from 0 in steps of 1 along one axis}}
  scf.parallel (%i, %j) = (%c0, %c0) to (%c8, %c8) step (%c1, %c1) {
    scf.reduce
  }
  return
}

// -----

func.func @not_from_0() {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  // expected-error @+1 {{a parallel loop, expected one from 0 in steps of 1 along one axis}}
  scf.parallel (%i) = (%c1) to (%c8) step (%c1) {
    scf.reduce
  }
  return
}

// -----

func.func @arrays(%x: !field.array<f32, [8]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  // expected-error @+1 {{a parallel loop that uses !field.array<f32, [8]>, which is not a word}}
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    %v = "field.load"(%x, %i) : (!field.array<f32, [8]>, index) -> f32
    scf.reduce
  }
  return
}
