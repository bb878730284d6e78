// RUN: mlirad-opt %s --lower-parallel-to-gpu --verify-diagnostics

func.func @large(%m: memref<256xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  // expected-error @+1 {{block_dim is 1 to 1024 threads, not 2048}}
  scf.parallel (%i) = (%c0) to (%c256) step (%c1) {
    memref.store %v, %m[%i] : memref<256xf32>
    scf.reduce
  } {block_dim = 2048 : i64}
  return
}
