// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --lower-block-reductions | filecheck %s
// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --lower-block-reductions --lower-block-reductions | filecheck %s

// Four groups: five exchanges in each, the sums of the groups by way of the block's memory, in pairs.
// CHECK-LABEL: gpu.func @groups
// CHECK-SAME: workgroup(%[[MEMORY:.*]] : memref<4xf32, #gpu.address_space<workgroup>>)
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK: scf.if
// CHECK: memref.store %{{.*}}, %[[MEMORY]]
// CHECK: gpu.barrier
// CHECK-COUNT-4: memref.load %[[MEMORY]]
// CHECK-NOT: gpu.barrier
// CHECK-COUNT-3: arith.addf
// CHECK-NOT: gpu.all_reduce
gpu.module @kernels {
  gpu.func @groups(%m: memref<1xf32>, %v: f32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %sum = gpu.all_reduce add %v uniform {} : (f32) -> f32
    memref.store %sum, %m[%c0] : memref<1xf32>
    gpu.return
  }
}

// -----

// A group that is not whole: what a missing thread has is left out, the first one has the result.
// CHECK-LABEL: gpu.func @missing
// CHECK-COUNT-3: gpu.shuffle idx
// CHECK: %[[LEAST:.*]], %{{.*}} = gpu.shuffle idx %{{.*}}, %c0_i32
// CHECK: memref.store %[[LEAST]]
gpu.module @kernels {
  gpu.func @missing(%m: memref<1xi32>, %v: i32) kernel attributes {known_block_size = array<i32: 3, 2, 1>} {
    %c0 = arith.constant 0 : index
    %least = gpu.all_reduce minsi %v uniform {} : (i32) -> i32
    memref.store %least, %m[%c0] : memref<1xi32>
    gpu.return
  }
}

// -----

// In a loop, nobody writes to the memory before all have read it.
// CHECK-LABEL: gpu.func @again
// CHECK: scf.for
// CHECK: gpu.barrier
// CHECK: memref.load
// CHECK: gpu.barrier
gpu.module @kernels {
  gpu.func @again(%m: memref<1xf64>, %v: f64, %n: index) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %sum = scf.for %k = %c0 to %n step %c1 iter_args(%a = %v) -> (f64) {
      %all = gpu.all_reduce add %a uniform {} : (f64) -> f64
      scf.yield %all : f64
    }
    memref.store %sum, %m[%c0] : memref<1xf64>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @unknown(%m: memref<1xf64>, %v: f64) kernel {
    %c0 = arith.constant 0 : index
    // expected-error @below {{a reduction by a region, or of blocks whose size is not known}}
    %sum = gpu.all_reduce add %v uniform {} : (f64) -> f64
    memref.store %sum, %m[%c0] : memref<1xf64>
    gpu.return
  }
}
