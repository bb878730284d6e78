// RUN: mlirad-opt %s --split-input-file --lower-paged-fields --verify-diagnostics

module attributes {gpu.container_module} {
  func.func @host(%p: !llvm.ptr {field.symbol = @x, field.paged}) {
    // expected-error @+1 {{'llvm.load' of memory in pages}}
    %0 = llvm.load %p : !llvm.ptr -> f32
    return
  }
}

// -----

module attributes {gpu.container_module} {
  func.func @f(%p: !llvm.ptr {field.symbol = @x, field.paged}) {
    %c1 = arith.constant 1 : index
    gpu.launch_func @f_kernels::@f_0 blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
      args(%p : !llvm.ptr)
    return
  }
  gpu.module @f_kernels {
    gpu.func @f_0(%p: !llvm.ptr) kernel {
      // expected-error @+1 {{'llvm.ptrtoint' of memory in pages}}
      %0 = llvm.ptrtoint %p : !llvm.ptr to i64
      gpu.return
    }
  }
}
