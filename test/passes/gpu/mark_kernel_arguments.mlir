// RUN: mlirad-opt %s --mark-kernel-arguments | filecheck %s
// RUN: mlirad-opt %s --mark-kernel-arguments --mark-kernel-arguments | filecheck %s

module attributes {gpu.container_module} {
  func.func @f(%p: !llvm.ptr {field.symbol = @x, llvm.align = 256 : i64, llvm.noalias}, %q: !llvm.ptr) {
    %c1 = arith.constant 1 : index
    gpu.launch_func @f_kernels::@f_0 blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
      args(%q : !llvm.ptr, %p : !llvm.ptr)
    return
  }

  func.func @g(%p: !llvm.ptr {llvm.align = 256 : i64, llvm.noalias}, %i: i64) {
    %c1 = arith.constant 1 : index
    %q = llvm.getelementptr %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    gpu.launch_func @f_kernels::@f_1 blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
      args(%q : !llvm.ptr, %p : !llvm.ptr)
    return
  }

  func.func @h(%p: !llvm.ptr {llvm.noalias}, %q: !llvm.ptr {llvm.noalias}) {
    %c1 = arith.constant 1 : index
    gpu.launch_func @f_kernels::@f_2 blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
      args(%p : !llvm.ptr, %q : !llvm.ptr)
    gpu.launch_func @f_kernels::@f_3 blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
      args(%p : !llvm.ptr, %q : !llvm.ptr)
    return
  }

  // CHECK-LABEL: gpu.func @f_0(%arg0: !llvm.ptr, %arg1: !llvm.ptr {llvm.align = 256 : i64, llvm.noalias})
  // What @g makes of %p leads where that does.
  // CHECK-LABEL: gpu.func @f_1(%arg0: !llvm.ptr, %arg1: !llvm.ptr {llvm.align = 256 : i64})
  // Behind a barrier, a thread reads what another has written to %q.
  // CHECK-LABEL: gpu.func @f_2(%arg0: !llvm.ptr {llvm.noalias}, %arg1: !llvm.ptr)
  // CHECK-LABEL: gpu.func @f_3(%arg0: !llvm.ptr {llvm.noalias}, %arg1: !llvm.ptr {llvm.noalias})
  gpu.module @f_kernels {
    gpu.func @f_0(%q: !llvm.ptr, %p: !llvm.ptr) kernel {
      gpu.return
    }
    gpu.func @f_1(%q: !llvm.ptr, %p: !llvm.ptr) kernel {
      gpu.return
    }
    gpu.func @f_2(%p: !llvm.ptr, %q: !llvm.ptr) kernel {
      %i = gpu.thread_id x
      %j = arith.index_cast %i : index to i64
      %from = llvm.getelementptr %p[%j] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %to = llvm.getelementptr %q[%j] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %value = llvm.load %from : !llvm.ptr -> f32
      llvm.store %value, %to : f32, !llvm.ptr
      gpu.barrier
      %other = llvm.load %q : !llvm.ptr -> f32
      llvm.store %other, %to : f32, !llvm.ptr
      gpu.return
    }
    gpu.func @f_3(%p: !llvm.ptr, %q: !llvm.ptr) kernel {
      %value = llvm.load %p : !llvm.ptr -> f32
      llvm.store %value, %q : f32, !llvm.ptr
      gpu.return
    }
  }
}
