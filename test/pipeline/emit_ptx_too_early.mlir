// RUN: mlirad-opt %s --emit=ptx --verify-diagnostics

gpu.module @k {
  llvm.func @g(%x: f32, %p: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel} {
    // expected-error @below {{'arith.addf' cannot become PTX, expected the module behind the cuda pipeline}}
    %0 = arith.addf %x, %x : f32
    llvm.store %0, %p : f32, !llvm.ptr
    llvm.return
  }
}
