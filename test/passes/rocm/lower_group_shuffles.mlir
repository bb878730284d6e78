// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --lower-group-shuffles | filecheck %s
// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --lower-group-shuffles --lower-group-shuffles | filecheck %s

// Over a distance that is known: an exchange in groups of 32 (31 | 4 << 10).
// CHECK-LABEL: gpu.func @distance
// CHECK: %[[PATTERN:.*]] = llvm.mlir.constant(4127 : i32)
// CHECK: %[[WORD:.*]] = arith.bitcast %arg1 : f32 to i32
// CHECK: llvm.call_intrinsic "llvm.amdgcn.ds.swizzle"(%[[WORD]], %[[PATTERN]])
// CHECK-NOT: gpu.shuffle
gpu.module @kernels {
  gpu.func @distance(%m: memref<1xf32>, %v: f32) kernel {
    %c0 = arith.constant 0 : index
    %four = arith.constant 4 : i32
    %width = arith.constant 32 : i32
    %w, %valid = gpu.shuffle xor %v, %four, %width : f32
    memref.store %w, %m[%c0] : memref<1xf32>
    gpu.return
  }
}

// -----

// By number: that of this thread's group in its wave. 64 bits are two words.
// CHECK-LABEL: gpu.func @number
// CHECK: llvm.call_intrinsic "llvm.amdgcn.mbcnt.lo"
// CHECK: %[[LANE:.*]] = llvm.call_intrinsic "llvm.amdgcn.mbcnt.hi"
// CHECK: %[[IN_GROUP:.*]] = arith.andi %arg2, %c31_i32
// CHECK: %[[FIRST:.*]] = arith.andi %[[LANE]], %c-32_i32
// CHECK: arith.ori %[[FIRST]], %[[IN_GROUP]]
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.amdgcn.ds.bpermute"
// CHECK: %[[BOTH:.*]] = arith.ori
// CHECK: arith.bitcast %[[BOTH]] : i64 to f64
gpu.module @kernels {
  gpu.func @number(%m: memref<1xf64>, %v: f64, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %width = arith.constant 32 : i32
    %w, %valid = gpu.shuffle idx %v, %n, %width : f64
    memref.store %w, %m[%c0] : memref<1xf64>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @up(%m: memref<1xf32>, %v: f32, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %width = arith.constant 32 : i32
    // expected-error @below {{a shuffle up, down, or not in groups of 32 threads, for an AMD GPU}}
    %w, %valid = gpu.shuffle up %v, %n, %width : f32
    memref.store %w, %m[%c0] : memref<1xf32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @wide(%m: memref<1xf32>, %v: f32, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %width = arith.constant 64 : i32
    // expected-error @below {{a shuffle up, down, or not in groups of 32 threads, for an AMD GPU}}
    %w, %valid = gpu.shuffle idx %v, %n, %width : f32
    memref.store %w, %m[%c0] : memref<1xf32>
    gpu.return
  }
}
