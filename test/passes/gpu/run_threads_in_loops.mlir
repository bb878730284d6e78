// RUN: mlirad-opt %s --run-threads-in-loops --canonicalize | filecheck %s
// RUN: mlirad-opt %s --run-threads-in-loops --run-threads-in-loops --canonicalize | filecheck %s

module attributes {gpu.container_module} {
  // CHECK: module {{{$}}
  // A launch is a call with the sizes of the grid and of its blocks; scratch memory is the host's.
  // CHECK-LABEL: func.func @one(
  // CHECK: %[[SCRATCH:.*]] = memref.alloc(%arg0) : memref<?xf32>
  // CHECK: call @one_kernels.one_0(%arg0, %c2, %c3, %c4, %c5, %c6, %[[SCRATCH]])
  // CHECK-NEXT: memref.dealloc %[[SCRATCH]]
  func.func @one(%n: index) {
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c5 = arith.constant 5 : index
    %c6 = arith.constant 6 : index
    %scratch = gpu.alloc (%n) : memref<?xf32>
    gpu.launch_func @one_kernels::@one_0 blocks in (%n, %c2, %c3) threads in (%c4, %c5, %c6)
      args(%scratch : memref<?xf32>)
    gpu.dealloc %scratch : memref<?xf32>
    return
  }

  // CHECK-LABEL: func.func @two(
  // CHECK: %[[COLUMNS:.*]] = arith.index_cast %arg0 : i32 to index
  // CHECK: call @two_kernels.two_0(%[[COLUMNS]],
  func.func @two(%n: i32, %p: !llvm.ptr) {
    gpu.launch_func @two_kernels::@two_0 blocks in (%n, %n, %n) threads in (%n, %n, %n) : i32
      args(%p : !llvm.ptr)
    return
  }

  // Loops over the blocks, x running fastest, and over the threads of each.
  // CHECK-LABEL: func.func private @one_kernels.one_0(
  // CHECK: %[[GRID_XY:.*]] = arith.muli %arg0, %arg1
  // CHECK: %[[BLOCKS:.*]] = arith.muli %[[GRID_XY]], %arg2
  // CHECK: %[[THREADS_XY:.*]] = arith.muli %arg3, %arg4
  // CHECK: %[[THREADS:.*]] = arith.muli %[[THREADS_XY]], %arg5
  // CHECK: scf.for %[[BLOCK:.*]] = %c0 to %[[BLOCKS]]
  // CHECK: scf.for %[[THREAD:.*]] = %c0 to %[[THREADS]]
  // CHECK: %[[ROWS:.*]] = arith.divui %[[THREAD]], %arg3
  // CHECK: %[[Z:.*]] = arith.divui %[[ROWS]], %arg4
  // CHECK: %[[PLACE:.*]] = arith.muli %[[Z]], %arg0
  // CHECK: %[[TWICE:.*]] = func.call @one_kernels.twice
  // CHECK: memref.store %[[TWICE]], %arg6[%[[PLACE]]]
  // CHECK: llvm.call @printf
  gpu.module @one_kernels {
    gpu.func @one_0(%memory: memref<?xf32>) kernel {
      %x = gpu.thread_id x
      %z = gpu.thread_id z
      %columns = gpu.grid_dim x
      %place = arith.muli %z, %columns : index
      %word = arith.index_cast %x : index to i32
      %value = arith.sitofp %word : i32 to f32
      %twice = func.call @twice(%value) : (f32) -> f32
      memref.store %twice, %memory[%place] : memref<?xf32>
      %wide = arith.extf %twice : f32 to f64
      gpu.printf "%f\0A", %wide : f64
      gpu.return
    }

    // Functions of different modules stay apart.
    // CHECK-LABEL: func.func private @one_kernels.twice
    // CHECK-NEXT: arith.addf
    func.func private @twice(%v: f32) -> f32 {
      %twice = arith.addf %v, %v : f32
      return %twice : f32
    }
  }

  // A thread's memory is allocated once. What is known of pointers stays known.
  // CHECK-LABEL: func.func private @two_kernels.two_0(
  // CHECK-SAME: %arg6: !llvm.ptr {llvm.noalias}
  // CHECK: memref.alloca() : memref<4xf32>
  // CHECK: scf.for
  gpu.module @two_kernels {
    func.func private @twice(%v: f32) -> f32 {
      %twice = arith.mulf %v, %v : f32
      return %twice : f32
    }
    gpu.func @two_0(%p: !llvm.ptr {llvm.noalias}) kernel {
      %c0 = arith.constant 0 : index
      %x = gpu.block_id x
      %own = memref.alloca() : memref<4xf32>
      %value = memref.load %own[%x] : memref<4xf32>
      llvm.store %value, %p : f32, !llvm.ptr
      gpu.return
    }
  }

  // CHECK: llvm.mlir.global private constant @print.0("%f\0A\00")
  // CHECK: llvm.func @printf
}
