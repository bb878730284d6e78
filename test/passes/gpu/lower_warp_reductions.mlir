// RUN: mlirad-opt %s --lower-warp-reductions | filecheck %s
// RUN: mlirad-opt %s --lower-warp-reductions --lower-warp-reductions | filecheck %s

module attributes {gpu.container_module} {
  gpu.module @kernels {
    // Five shuffles, with a thread twice as far each time.
    // CHECK-LABEL: gpu.func @warp
    // CHECK-DAG: %[[ONE:.*]] = arith.constant 1 : i32
    // CHECK: %[[OTHER:.*]], %{{.*}} = gpu.shuffle xor %arg1, %[[ONE]]
    // CHECK-NEXT: arith.addf %arg1, %[[OTHER]] : f32
    // CHECK-COUNT-4: gpu.shuffle xor
    // CHECK: %[[SUM:.*]] = arith.addf
    // CHECK-COUNT-5: gpu.shuffle xor
    // CHECK: %[[LEAST:.*]] = arith.minnumf
    // CHECK-NOT: gpu.all_reduce
    // CHECK: memref.store %[[SUM]]
    // CHECK: memref.store %[[LEAST]]
    gpu.func @warp(%m: memref<2xf32>, %v: f32) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %sum = gpu.all_reduce add %v uniform {} : (f32) -> f32
      %least = gpu.all_reduce minnumf %v uniform {} : (f32) -> f32
      memref.store %sum, %m[%c0] : memref<2xf32>
      memref.store %least, %m[%c1] : memref<2xf32>
      gpu.return
    }

    // CHECK-LABEL: gpu.func @larger
    // CHECK-NOT: gpu.shuffle
    // CHECK: gpu.all_reduce maxsi
    gpu.func @larger(%m: memref<1xi32>, %v: i32) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
      %c0 = arith.constant 0 : index
      %most = gpu.all_reduce maxsi %v uniform {} : (i32) -> i32
      memref.store %most, %m[%c0] : memref<1xi32>
      gpu.return
    }
  }
}
