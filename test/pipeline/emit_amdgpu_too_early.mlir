// RUN: mlirad-opt %s --emit=amdgpu --split-input-file --verify-diagnostics

gpu.module @k {
  llvm.func @g(%x: f32, %p: !llvm.ptr) attributes {gpu.kernel, rocdl.kernel} {
    // expected-error @below {{'arith.addf' cannot become AMD's code, expected the module behind the rocm pipeline}}
    %0 = arith.addf %x, %x : f32
    llvm.store %0, %p : f32, !llvm.ptr
    llvm.return
  }
}

// -----

// LLVM would end the process.
gpu.module @k {
  llvm.func @g(%x: f32, %p: !llvm.ptr) attributes {gpu.kernel, rocdl.kernel} {
    // expected-error @below {{LLVM has no code for 'llvm.tanh.f32'}}
    %0 = llvm.intr.tanh(%x) : (f32) -> f32
    llvm.store %0, %p : f32, !llvm.ptr
    llvm.return
  }
}

// -----

gpu.module @k {
  llvm.func @h(f32) -> f32
  llvm.func @g(%x: f32, %p: !llvm.ptr) attributes {gpu.kernel, rocdl.kernel} {
    // expected-error @below {{'h' is in a library, which is not here}}
    %0 = llvm.call @h(%x) : (f32) -> f32
    llvm.store %0, %p : f32, !llvm.ptr
    llvm.return
  }
}

// -----

gpu.module @k {
  llvm.func @g(%p: !llvm.ptr) attributes {gpu.kernel, rocdl.kernel} {
    %n = llvm.mlir.constant(4 : i64) : i64
    // expected-error @below {{this 'llvm.alloca' cannot become AMD's code}}
    %a = llvm.alloca %n x f32 : (i64) -> !llvm.ptr
    %v = llvm.load %a : !llvm.ptr -> f32
    llvm.store %v, %p : f32, !llvm.ptr
    llvm.return
  }
}
