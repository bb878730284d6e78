// RUN: mlirad-opt %s --lower-parallel-to-gpu | filecheck %s
// RUN: mlirad-opt %s --lower-parallel-to-gpu --mlir-print-op-generic | mlirad-opt - | filecheck %s

// CHECK: module attributes {gpu.container_module}

// One thread an iteration; the last block is not full.
// CHECK-LABEL: func.func @box(
// CHECK-DAG: %[[ONE:.*]] = arith.constant 1 : index
// CHECK: %[[TOTAL:.*]] = arith.constant 1000 : index
// CHECK: %[[BLOCKS:.*]] = arith.constant 8 : index
// CHECK: gpu.launch blocks(%[[B:.*]], %{{.*}}, %{{.*}}) in (%{{.*}} = %[[BLOCKS]],
// CHECK-SAME: threads(%[[T:.*]], %{{.*}}, %{{.*}}) in
// CHECK-SAME: module(@box_kernels) function(@box_0)
// CHECK: %[[OFFSET:.*]] = arith.muli %[[B]]
// CHECK: %[[HERE:.*]] = arith.addi %[[OFFSET]], %[[T]]
// CHECK: arith.cmpi ult, %[[HERE]], %[[TOTAL]]
// CHECK-NEXT: scf.if
// CHECK: arith.remui %[[HERE]]
// CHECK: arith.divui %[[HERE]]
// CHECK: memref.store
func.func @box(%m: memref<10x100xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %c100 = arith.constant 100 : index
  scf.parallel (%i, %j) = (%c0, %c0) to (%c10, %c100) step (%c1, %c1) {
    memref.store %v, %m[%i, %j] : memref<10x100xf32>
    scf.reduce
  }
  return
}

// Whole blocks need no check; a loop names its block size; launches are numbered.
// CHECK-LABEL: func.func @whole(
// CHECK: %[[SIZE:.*]] = arith.constant 64 : index
// CHECK-NEXT: gpu.launch {{.*}} threads({{.*}}) in ({{.*}} = %[[SIZE]], {{.*}} module(@whole_kernels) function(@whole_0)
// CHECK-NOT: scf.if
// CHECK: gpu.terminator
// CHECK: gpu.launch {{.*}} module(@whole_kernels) function(@whole_1)
// CHECK-NOT: scf.if
// CHECK: return
func.func @whole(%m: memref<256xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  scf.parallel (%i) = (%c0) to (%c256) step (%c1) {
    memref.store %v, %m[%i] : memref<256xf32>
    scf.reduce
  } {block_dim = 64 : i64}
  scf.parallel (%i) = (%c0) to (%c1) step (%c1) {
    memref.store %v, %m[%i] : memref<256xf32>
    scf.reduce
  }
  return
}

// An extent known at the launch, which may be none: still one block, for no block is an error.
// CHECK-LABEL: func.func @open(
// CHECK: arith.maxsi
// CHECK: arith.divui
// CHECK: arith.maxsi
// CHECK: gpu.launch
func.func @open(%m: memref<?xf32>, %n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    memref.store %v, %m[%i] : memref<?xf32>
    scf.reduce
  }
  return
}

// A loop that is known to be empty is gone.
// CHECK-LABEL: func.func @empty(
// CHECK-NOT: gpu.launch
// CHECK: return
func.func @empty(%m: memref<256xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c1) to (%c0) step (%c1) {
    memref.store %v, %m[%i] : memref<256xf32>
    scf.reduce
  }
  return
}
