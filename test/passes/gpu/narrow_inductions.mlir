// RUN: mlirad-opt %s --narrow-inductions | filecheck %s
// RUN: mlirad-opt %s --narrow-inductions --narrow-inductions | filecheck %s

module attributes {gpu.container_module} {
  gpu.module @k {
    // As many trips as an argument of 32 bits says: the loop counts to it.
    // CHECK-LABEL: gpu.func @argument
    // CHECK-SAME: , %[[N:arg[0-9]+]]: i32
    // CHECK: scf.for %[[I:.*]] = %{{.*}} to %[[N]] step %{{.*}}{{ *}}: i32
    // CHECK-NEXT: %[[AT:.*]] = arith.index_cast %[[I]] : i32 to index
    // CHECK-NEXT: memref.store %{{.*}}, %{{.*}}[%[[AT]]]
    gpu.func @argument(%m: memref<?xf32>, %n: i32, %v: f32) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %end = arith.index_cast %n : i32 to index
      scf.for %i = %c0 to %end step %c1 {
        memref.store %v, %m[%i] : memref<?xf32>
      }
      gpu.return
    }

    // A loop that ends with numbers beyond 32 bits, or may, counts in 64: in steps of 2 the last one behind the end is 2^31.
    // CHECK-LABEL: gpu.func @beyond
    // CHECK-NOT: : i32 {
    // CHECK: gpu.return
    gpu.func @beyond(%m: memref<?xf32>, %n: i32, %l: i64, %v: f32) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %end = arith.index_cast %n : i32 to index
      %far = arith.index_cast %l : i64 to index
      scf.for %i = %c0 to %end step %c2 {
        memref.store %v, %m[%i] : memref<?xf32>
      }
      scf.for %i = %c0 to %far step %c1 {
        memref.store %v, %m[%i] : memref<?xf32>
      }
      gpu.return
    }

    // Threads that stride over a box, from their own number on: what that can be is known from the launch.
    // CHECK-LABEL: gpu.func @striding
    // CHECK: %[[FIRST:.*]] = arith.index_cast %{{.*}} : index to i32
    // CHECK: %[[SUM:.*]] = scf.for %{{.*}} = %[[FIRST]] to %{{.*}} step %{{.*}} iter_args(%{{.*}} = %{{.*}}) -> (f32){{ *}}: i32 {
    // CHECK: scf.yield %{{.*}} : f32
    // CHECK: memref.store %[[SUM]]
    gpu.func @striding(%m: memref<10000000xf32>, %zero: f32) kernel attributes {known_block_size = array<i32: 128, 1, 1>, known_grid_size = array<i32: 2048, 1, 1>} {
      %c128 = arith.constant 128 : index
      %step = arith.constant 262144 : index
      %end = arith.constant 10000000 : index
      %b = gpu.block_id x
      %t = gpu.thread_id x
      %0 = arith.muli %b, %c128 : index
      %first = arith.addi %0, %t : index
      %sum = scf.for %i = %first to %end step %step iter_args(%s = %zero) -> (f32) {
        %x = memref.load %m[%i] : memref<10000000xf32>
        %next = arith.addf %s, %x : f32
        scf.yield %next : f32
      }
      memref.store %sum, %m[%first] : memref<10000000xf32>
      gpu.return
    }

    // A grid of any size.
    // CHECK-LABEL: gpu.func @any_grid
    // CHECK-NOT: : i32 {
    // CHECK: gpu.return
    gpu.func @any_grid(%m: memref<?xf32>, %v: f32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
      %c128 = arith.constant 128 : index
      %b = gpu.block_id x
      scf.for %i = %b to %c128 step %c128 {
        memref.store %v, %m[%i] : memref<?xf32>
      }
      gpu.return
    }

    // Of a known number of trips: what goes into addresses is counted in 64 bits, what is a number of 32 bits is counted so.
    // CHECK-LABEL: gpu.func @known
    // CHECK: scf.for %{{.*}} step %{{[^ ]*}} {
    // CHECK: scf.for %{{.*}} step %{{[^ ]*}}{{ *}}: i32 {
    gpu.func @known(%m: memref<?xf32>, %i32s: memref<i32>, %v: f32) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c64 = arith.constant 64 : index
      scf.for %i = %c0 to %c64 step %c1 {
        memref.store %v, %m[%i] : memref<?xf32>
      }
      scf.for %i = %c0 to %c64 step %c1 {
        %word = arith.index_cast %i : index to i32
        memref.store %word, %i32s[] : memref<i32>
      }
      gpu.return
    }
  }
}
