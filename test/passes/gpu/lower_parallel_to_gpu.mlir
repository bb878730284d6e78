// RUN: mlirad-opt %s --lower-parallel-to-gpu | filecheck %s
// RUN: mlirad-opt %s --lower-parallel-to-gpu --mlir-print-op-generic | mlirad-opt - | filecheck %s

// CHECK: module attributes {gpu.container_module}

// One thread an iteration; of blocks that are boxes, more than a quarter of the threads would be idle
// here: they count through, and the last block is not full.
// CHECK-LABEL: func.func @box(
// CHECK-DAG: %[[ONE:.*]] = arith.constant 1 : index
// CHECK: %[[TOTAL:.*]] = arith.constant 1000 : index
// CHECK: %[[BLOCKS:.*]] = arith.constant 4 : index
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
// CHECK: arith.ceildivsi
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

// A block is 8 rows of a warp: nobody divides. The last axis of the box is the first of the grid.
// CHECK-LABEL: func.func @plane(
// CHECK: gpu.launch blocks(%[[BX:.*]], %[[BY:.*]], %{{.*}}) in (%{{.*}} = %c16{{[_0-9]*}}, %{{.*}} = %c64{{[_0-9]*}}, %{{.*}} = %c1{{[_0-9]*}}) threads(%[[TX:.*]], %[[TY:.*]], %{{.*}}) in (%{{.*}} = %c32{{[_0-9]*}}, %{{.*}} = %c8{{[_0-9]*}}, %{{.*}} = %c1{{[_0-9]*}})
// CHECK: %[[X0:.*]] = arith.muli %[[BX]]
// CHECK: %[[X:.*]] = arith.addi %[[X0]], %[[TX]]
// CHECK: %[[IN:.*]] = arith.cmpi ult, %[[X]]
// CHECK: %[[Y0:.*]] = arith.muli %[[BY]]
// CHECK: %[[Y:.*]] = arith.addi %[[Y0]], %[[TY]]
// CHECK-NOT: arith.{{divui|remui}}
// CHECK: scf.if %[[IN]]
// CHECK-NOT: arith.{{divui|remui}}
// CHECK: gpu.terminator
func.func @plane(%m: memref<512x510xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c512 = arith.constant 512 : index
  %c510 = arith.constant 510 : index
  scf.parallel (%i, %j) = (%c0, %c0) to (%c512, %c510) step (%c1, %c1) {
    memref.store %v, %m[%i, %j] : memref<512x510xf32>
    scf.reduce
  }
  return
}

// Three axes, short ones: a block has threads along each. Whole blocks need no check.
// CHECK-LABEL: func.func @cube(
// CHECK: gpu.launch blocks({{.*}}) in (%{{.*}} = %c1{{[_0-9]*}}, %{{.*}} = %c1{{[_0-9]*}}, %{{.*}} = %c2{{[_0-9]*}}) threads({{.*}}) in (%{{.*}} = %c8{{[_0-9]*}}, %{{.*}} = %c8{{[_0-9]*}}, %{{.*}} = %c4{{[_0-9]*}})
// CHECK-NOT: scf.if
// CHECK: return
func.func @cube(%m: memref<8x8x8xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.parallel (%i, %j, %k) = (%c0, %c0, %c0) to (%c8, %c8, %c8) step (%c1, %c1, %c1) {
    memref.store %v, %m[%i, %j, %k] : memref<8x8x8xf32>
    scf.reduce
  }
  return
}

// A grid has 65,535 blocks along its second axis, and many more along its first.
// CHECK-LABEL: func.func @tall(
// CHECK: gpu.launch blocks(%[[BX:.*]], %[[BY:.*]], %{{.*}}) in (%{{.*}} = %c156250{{[_0-9]*}}, %{{.*}} = %c1{{[_0-9]*}}, {{.*}} threads(%[[TX:.*]], %[[TY:.*]], %{{.*}}) in (%{{.*}} = %c4{{[_0-9]*}}, %{{.*}} = %c64{{[_0-9]*}},
// CHECK: %[[X0:.*]] = arith.muli %[[BY]]
// CHECK: arith.addi %[[X0]], %[[TX]]
// CHECK: %[[Y0:.*]] = arith.muli %[[BX]]
// CHECK: arith.addi %[[Y0]], %[[TY]]
func.func @tall(%m: memref<10000000x4xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %n = arith.constant 10000000 : index
  scf.parallel (%i, %j) = (%c0, %c0) to (%n, %c4) step (%c1, %c1) {
    memref.store %v, %m[%i, %j] : memref<10000000x4xf32>
    scf.reduce
  }
  return
}

// Extents known at the launch: the host chooses how wide the rows of a block are, a power of two, and
// threads stride over rows that the grid has no blocks for.
// CHECK-LABEL: func.func @rows(
// CHECK-COUNT-5: arith.select
// CHECK: %[[WIDTH:.*]] = arith.shli
// CHECK: arith.minsi
// CHECK: gpu.launch blocks({{.*}}) in (%[[GX:.*]] = %{{.*}}, %[[GY:.*]] = %{{.*}}, %{{.*}} = %{{.*}}) threads(%[[T:.*]], %{{.*}}, %{{.*}}) in (%{{.*}} = %c256
// CHECK: arith.andi %[[T]]
// CHECK: arith.shrui %[[T]]
// CHECK: %[[STEP:.*]] = arith.muli %[[GY]]
// CHECK: scf.if
// CHECK: scf.for {{.*}} step %[[STEP]]
// CHECK-NOT: arith.{{divui|remui}}
// CHECK: return
func.func @rows(%m: memref<?x?xf32>, %a: index, %b: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i, %j) = (%c0, %c0) to (%a, %b) step (%c1, %c1) {
    memref.store %v, %m[%i, %j] : memref<?x?xf32>
    scf.reduce
  }
  return
}

// More blocks than any grid has: threads stride over rows here, too.
// CHECK-LABEL: func.func @huge(
// CHECK: gpu.launch blocks({{.*}}) in (%{{.*}} = %{{.*}}, %[[GY:.*]] = %{{.*}}, %{{.*}} = %{{.*}}) threads
// CHECK: %[[STEP:.*]] = arith.muli %[[GY]]
// CHECK: scf.for {{.*}} step %[[STEP]]
// CHECK: return
func.func @huge(%m: memref<f32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 1000000 : index
  scf.parallel (%i, %j, %k) = (%c0, %c0, %c0) to (%n, %n, %n) step (%c1, %c1, %c1) {
    memref.store %v, %m[] : memref<f32>
    scf.reduce
  }
  return
}

// The name that a program gave to a loop is in its location, and goes into the symbol.
// CHECK-LABEL: func.func @named
// CHECK: module(@named_kernels) function(@named_0_fill_all)
func.func @named(%m: memref<100xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 100 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    memref.store %v, %m[%i] : memref<100xf32>
    scf.reduce
  } loc("loop fill all"("program.py":3:5))
  return
}
