// RUN: mlirad-opt %s --hoist-buffers | filecheck %s
// RUN: mlirad-opt %s --hoist-buffers --hoist-buffers | filecheck %s

// CHECK-LABEL: func.func @out_of_all_loops
// CHECK: %[[B:.*]] = memref.alloc(%arg0)
// CHECK-NEXT: scf.for
// CHECK-NEXT: scf.for
// CHECK-NEXT: memref.store
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: memref.dealloc %[[B]]
func.func @out_of_all_loops(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %n step %c1 {
      %b = memref.alloc(%n) : memref<?xf32>
      memref.store %zero, %b[%j] : memref<?xf32>
      memref.dealloc %b : memref<?xf32>
    }
  }
  return
}

// CHECK-LABEL: func.func @size_of_the_outer_loop
// CHECK: scf.for %[[I:.*]] =
// CHECK-NEXT: memref.alloc(%[[I]])
// CHECK-NEXT: scf.for
func.func @size_of_the_outer_loop(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %n step %c1 {
      %b = memref.alloc(%i) : memref<?xf32>
      memref.store %zero, %b[%j] : memref<?xf32>
      memref.dealloc %b : memref<?xf32>
    }
  }
  return
}

// CHECK-LABEL: func.func @one_for_each_parallel_iteration
// CHECK: scf.parallel
// CHECK-NEXT: memref.alloca
// CHECK-NEXT: scf.for
func.func @one_for_each_parallel_iteration(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    scf.for %j = %c0 to %n step %c1 {
      %b = memref.alloca() : memref<4xf32>
      memref.store %zero, %b[%c0] : memref<4xf32>
    }
  }
  return
}
