// RUN: mlirad-opt %s --run-threads-in-loops=order=descending --canonicalize | filecheck %s

// A barrier ends a loop over the threads. Values are kept in a buffer of an element a thread, a
// thread's memory in a row of one; what is the same for all is computed once.
// CHECK-LABEL: func.func private @m.barrier
// CHECK-DAG: %[[VALUES:.*]] = memref.alloc(%[[THREADS:[^)]*]]) : memref<?xf32>
// CHECK-DAG: %[[ROWS:.*]] = memref.alloc(%{{.*}}) : memref<?xi8>
// CHECK: scf.for
// CHECK: %[[SHARED:.*]] = math.exp %arg6
// CHECK: scf.for %[[K:.*]] = %c0 to %[[THREADS]]
// CHECK: %[[LAST:.*]] = arith.subi %[[THREADS]], %c1
// CHECK: %[[T:.*]] = arith.subi %[[LAST]], %[[K]]
// CHECK: %[[VALUE:.*]] = arith.addf
// CHECK-NEXT: memref.store %[[VALUE]], %[[VALUES]][%[[T]]]
// CHECK-NEXT: }
// CHECK-NEXT: scf.for
// CHECK: %[[KEPT:.*]] = memref.load %[[VALUES]]
// CHECK: %[[OFFSET:.*]] = arith.muli %{{.*}}, %c16
// CHECK: %[[OWN:.*]] = memref.view %[[ROWS]][%[[OFFSET]]][] : memref<?xi8> to memref<4xf32>
// CHECK: memref.store %[[KEPT]], %[[OWN]]
// CHECK: memref.dealloc
module attributes {gpu.container_module} {
  gpu.module @m {
    gpu.func @barrier(%a: f32, %x: memref<?xf32>) kernel {
      %i = gpu.thread_id x
      %own = memref.alloca() : memref<4xf32>
      %c0 = arith.constant 0 : index
      %shared = math.exp %a : f32
      %before = memref.load %x[%i] : memref<?xf32>
      %value = arith.addf %before, %shared : f32
      gpu.barrier
      memref.store %value, %own[%c0] : memref<4xf32>
      gpu.return
    }

    // A loop with a barrier is one of the block; what it carries, each thread has for itself.
    // CHECK-LABEL: func.func private @m.loop
    // CHECK: %[[CARRIED:.*]] = memref.alloc
    // CHECK: scf.for
    // CHECK: scf.for %{{.*}} = %c0 to %[[THREADS:[^ ]*]]
    // CHECK: memref.store %arg6, %[[CARRIED]]
    // CHECK: scf.for %{{.*}} = %c0 to %arg7 step %c1 {
    // CHECK-NEXT: scf.for %{{.*}} = %c0 to %[[THREADS]]
    // CHECK: %[[OLD:.*]] = memref.load %[[CARRIED]]
    // CHECK: %[[NEW:.*]] = math.sin %[[OLD]]
    // CHECK: memref.store %[[NEW]], %[[CARRIED]]
    gpu.func @loop(%a: f32, %n: index, %x: memref<?xf32>) kernel {
      %i = gpu.thread_id x
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %sum = scf.for %k = %c0 to %n step %c1 iter_args(%s = %a) -> f32 {
        gpu.barrier
        %t = math.sin %s : f32
        scf.yield %t : f32
      }
      memref.store %sum, %x[%i] : memref<?xf32>
      gpu.return
    }

    // A reduction of a block: in the order of the threads, whatever order they run in.
    // CHECK-LABEL: func.func private @m.reduction
    // CHECK: %[[VALUES:.*]] = memref.alloc
    // CHECK: scf.for
    // CHECK: scf.for
    // CHECK: memref.store %{{.*}}, %[[VALUES]]
    // CHECK: %[[FIRST:.*]] = memref.load %[[VALUES]][%c0]
    // CHECK-NEXT: %[[ALL:.*]] = scf.for %[[K:.*]] = %c1 to %{{.*}} step %c1 iter_args(%[[SUM:.*]] = %[[FIRST]])
    // CHECK-NEXT: %[[VALUE:.*]] = memref.load %[[VALUES]][%[[K]]]
    // CHECK-NEXT: arith.addf %[[SUM]], %[[VALUE]]
    // CHECK: scf.for
    // CHECK: memref.store %[[ALL]], %arg6
    gpu.func @reduction(%x: memref<?xf32>) kernel {
      %i = gpu.thread_id x
      %value = memref.load %x[%i] : memref<?xf32>
      %all = gpu.all_reduce add %value uniform {} : (f32) -> f32
      memref.store %all, %x[%i] : memref<?xf32>
      gpu.return
    }
  }
}
