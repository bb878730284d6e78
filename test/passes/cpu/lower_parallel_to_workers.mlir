// RUN: mlirad-opt %s --lower-parallel-to-workers=threads=3 | filecheck %s

// CHECK-LABEL: func.func @sums(
// CHECK-SAME: %arg0: f32 {field.argument = 0 : i64}, %[[STATE:.*]]: !llvm.ptr {field.workers}
// CHECK: %[[FRAME:.*]] = memref.alloca() : memref<2xi64>
// CHECK: %[[PARTS:.*]] = memref.alloca() : memref<8x16xf32>
// CHECK: memref.store %{{.*}}, %[[FRAME]]
// CHECK: memref.store %{{.*}}, %[[FRAME]]
// CHECK: %[[SHARE:.*]] = llvm.load %[[STATE]] : !llvm.ptr -> !llvm.ptr
// CHECK: %[[COUNT:.*]] = arith.index_cast %c8 : index to i64
// CHECK: %[[PIECE:.*]] = {{.*}}constant @sums.piece0
// CHECK: %[[THREADS:.*]] = arith.constant 3 : i64
// CHECK: llvm.call %[[SHARE]](%[[STATE]], %{{.*}}, %{{.*}}, %[[COUNT]], %[[THREADS]])
// CHECK-NOT: scf.parallel
// CHECK: return
func.func @sums(%v: f32 {field.argument = 0 : i64}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %parts = memref.alloca() : memref<8x16xf32>
  scf.parallel (%k) = (%c0) to (%c8) step (%c1) {
    %sum = func.call @sums.chunk0(%k, %v) : (index, f32) -> f32
    memref.store %sum, %parts[%k, %c0] : memref<8x16xf32>
  }
  return
}

// Nothing to share, nothing to take.

// CHECK-LABEL: func.func @no_loop()
func.func @no_loop() {
  return
}

func.func private @sums.chunk0(%k: index, %v: f32) -> f32 {
  return %v : f32
}

// What is a constant is made again; the rest goes through the frame.

// CHECK-LABEL: func.func private @sums.piece0(%arg0: !llvm.ptr, %arg1: i64)
// CHECK: %[[WIDE:.*]] = memref.load
// CHECK: %[[NARROW:.*]] = arith.trunci %[[WIDE]] : i64 to i32
// CHECK: %[[V:.*]] = arith.bitcast %[[NARROW]] : i32 to f32
// CHECK: llvm.inttoptr
// CHECK: %[[PARTS:.*]] = builtin.unrealized_conversion_cast {{.*}} to memref<8x16xf32>
// CHECK: %[[K:.*]] = arith.index_cast %arg1 : i64 to index
// CHECK: %[[SUM:.*]] = call @sums.chunk0(%{{.*}}, %[[V]])
// CHECK: memref.store %[[SUM]], %[[PARTS]][%[[K]], %{{.*}}]
