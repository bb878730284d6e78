// RUN: mlirad-opt %s --split-reductions --mem2reg --canonicalize --cse | filecheck %s
// RUN: mlirad-opt %s --split-reductions --split-reductions --mem2reg --canonicalize --cse | filecheck %s

// Blocks of 128 threads, the last of them for a part of the box; a block of them adds up their sums.
// CHECK-LABEL: func.func @blocks(
// CHECK: %[[PART:.*]] = field.get @"$launch.0" : !field.array<f32, [8]>
// CHECK: scf.parallel (%[[T:.*]]) = (%c0) to (%c1024) step (%c1) {
// CHECK-NEXT: %[[INSIDE:.*]] = arith.cmpi slt, %[[T]], %c1000
// CHECK-NEXT: %[[OWN:.*]] = scf.if %[[INSIDE]] -> (f32) {
// CHECK-NEXT: %[[V:.*]] = field.load %arg0[%[[T]]]
// CHECK: } else {
// CHECK-NEXT: scf.yield %cst
// CHECK: %[[SUM:.*]] = gpu.all_reduce add %[[OWN]] uniform
// CHECK: %[[THREAD:.*]] = gpu.thread_id
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[THREAD]], %c0
// CHECK-NEXT: scf.if %[[FIRST]] {
// CHECK-NEXT: %[[BLOCK:.*]] = gpu.block_id
// CHECK-NEXT: field.store %[[SUM]], %[[PART]][%[[BLOCK]]]
// CHECK: {block_dim = 128 : i64, field.whole_blocks}
// CHECK: scf.parallel (%[[K:.*]]) = (%c0) to (%c32) step (%c1) {
// CHECK-NEXT: %[[ALL:.*]] = scf.for %{{.*}} = %[[K]] to %c8 step %c32
// CHECK: %[[TOTAL:.*]] = gpu.all_reduce add %[[ALL]] uniform
// CHECK: field.atomic add %[[TOTAL]], %arg1[] {field.plain}
// CHECK: {block_dim = 32 : i64, field.whole_blocks}
func.func @blocks(%x: !field.array<f32, [1000]>, %s: !field.array<f32, []>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c1000 = arith.constant 1000 : index
  scf.parallel (%i) = (%c0) to (%c1000) step (%c1) {
    %v = "field.load"(%x, %i) : (!field.array<f32, [1000]>, index) -> f32
    %o = "field.atomic"(%v, %s) {kind = "add", field.reduce} : (f32, !field.array<f32, []>) -> f32
    scf.reduce
  }
  return
}

// One block needs no second launch.
// CHECK-LABEL: func.func @one_block(
// CHECK: scf.parallel {{.*}} to (%c64) step
// CHECK: gpu.all_reduce mul
// CHECK: field.atomic mul {{.*}} {field.plain}
// CHECK: {block_dim = 64 : i64, field.whole_blocks}
// CHECK-NOT: scf.parallel
// CHECK: return
func.func @one_block(%x: !field.array<f64, [50]>, %s: !field.array<f64, []>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c50 = arith.constant 50 : index
  scf.parallel (%i) = (%c0) to (%c50) step (%c1) {
    %v = "field.load"(%x, %i) : (!field.array<f64, [50]>, index) -> f64
    %o = "field.atomic"(%v, %s) {kind = "mul", field.reduce} : (f64, !field.array<f64, []>) -> f64
    scf.reduce
  }
  return
}

// One thread needs nobody.
// CHECK-LABEL: func.func @one_thread(
// CHECK-NOT: gpu.all_reduce
// CHECK: field.atomic add {{.*}} {field.plain}
// CHECK-NOT: scf.parallel
// CHECK: return
func.func @one_thread(%x: !field.array<f64, [50]>, %s: !field.array<f64, []>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%c1) step (%c1) {
    %v = "field.load"(%x, %i) : (!field.array<f64, [50]>, index) -> f64
    %o = "field.atomic"(%v, %s) {kind = "add", field.reduce} : (f64, !field.array<f64, []>) -> f64
    scf.reduce
  }
  return
}

// Threads stride over a large box; sums share the loop; each iteration stores once; 16 bits are summed in 32.
// CHECK-LABEL: func.func @stride(
// CHECK: scf.parallel (%[[T:.*]]) = (%c0) to (%c262144) step (%c1) {
// CHECK-NEXT: %[[OWN:.*]]:2 = scf.for %[[N:.*]] = %[[T]] to %c1000000 step %c262144 iter_args(%[[A:.*]] = %{{.*}}, %[[B:.*]] = %{{.*}}) -> (f32, i32)
// CHECK: %[[WIDE:.*]] = arith.extf %{{.*}} : f16 to f32
// CHECK: arith.addf %[[A]], %[[WIDE]] {field.exact} : f32
// CHECK: arith.maxsi %[[B]]
// CHECK: field.store
// CHECK-NOT: field.store
// CHECK: scf.yield
// CHECK: gpu.all_reduce add %[[OWN]]#0 uniform
// CHECK: gpu.all_reduce maxsi %[[OWN]]#1 uniform
// CHECK: scf.parallel (%[[K:.*]]) = (%c0) to (%c256) step (%c1) {
// CHECK: %[[NARROW:.*]] = arith.truncf %{{.*}} {field.exact} : f32 to f16
// CHECK-NEXT: field.atomic add %[[NARROW]], %arg2[] {field.exact, field.plain}
// CHECK: field.atomic max %{{.*}}, %arg3[%{{.*}}] {field.plain}
func.func @stride(%x: !field.array<f16, [1000, 1000]>, %n: !field.array<i32, [1000, 1000]>,
                  %s: !field.array<f16, []>, %m: !field.array<i32, [2]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c1000 = arith.constant 1000 : index
  scf.parallel (%i, %j) = (%c0, %c0) to (%c1000, %c1000) step (%c1, %c1) {
    %v = "field.load"(%x, %i, %j) : (!field.array<f16, [1000, 1000]>, index, index) -> f16
    %w = "field.load"(%n, %i, %j) : (!field.array<i32, [1000, 1000]>, index, index) -> i32
    %o = "field.atomic"(%v, %s) {kind = "add", field.reduce, field.exact} : (f16, !field.array<f16, []>) -> f16
    %p = "field.atomic"(%w, %m, %c1) {kind = "max", field.reduce} : (i32, !field.array<i32, [2]>, index) -> i32
    "field.store"(%w, %n, %j, %i) : (i32, !field.array<i32, [1000, 1000]>, index, index) -> ()
    scf.reduce
  }
  return
}

// A thread adds up at most 1024 iterations before they join its sum; the host counts the blocks.
// CHECK-LABEL: func.func @open(
// CHECK: %[[FILLED:.*]] = arith.divui
// CHECK: %[[BLOCKS:.*]] = arith.maxui
// CHECK: %[[THREADS:.*]] = arith.muli %[[BLOCKS]], %c64
// CHECK: scf.parallel (%[[T:.*]]) = (%c0) to (%[[THREADS]]) step (%c1) {
// CHECK: %[[FAR:.*]] = arith.muli %[[BLOCKS]], %c65536
// CHECK: scf.for %[[FIRST:.*]] = %[[T]] to %{{.*}} step %[[FAR]]
// CHECK: scf.for %{{.*}} = %[[FIRST]] to %{{.*}} step %[[THREADS]]
// CHECK: {block_dim = 64 : i64, field.whole_blocks}
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[BLOCKS]] step
func.func @open(%x: !field.array<f32, [-1]>, %s: !field.array<f32, []>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %v = "field.load"(%x, %i) : (!field.array<f32, [-1]>, index) -> f32
    %o = "field.atomic"(%v, %s) {kind = "add", field.reduce} : (f32, !field.array<f32, []>) -> f32
    scf.reduce
  } {block_dim = 64 : i64}
  return
}

// What an inner loop adds up joins the sum of its thread as one; a branch may add nothing.
// CHECK-LABEL: func.func @inner(
// CHECK: scf.parallel
// CHECK: scf.for {{.*}} iter_args(%[[SUM:.*]] = %cst)
// CHECK: %[[TERM:.*]] = scf.for {{.*}} iter_args(%[[INNER:.*]] = %cst)
// CHECK: scf.if
// CHECK: arith.addf %[[INNER]]
// CHECK: arith.addf %[[SUM]], %[[TERM]]
// CHECK: gpu.all_reduce
func.func @inner(%x: !field.array<f32, [1000000]>, %s: !field.array<f32, []>, %test: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %c1000000 = arith.constant 1000000 : index
  scf.parallel (%i) = (%c0) to (%c1000000) step (%c1) {
    %v = "field.load"(%x, %i) : (!field.array<f32, [1000000]>, index) -> f32
    scf.for %k = %c0 to %c9 step %c1 {
      scf.if %test {
        %o = "field.atomic"(%v, %s) {kind = "add", field.reduce} : (f32, !field.array<f32, []>) -> f32
      }
    }
    scf.reduce
  }
  return
}

// An index that iterations make of what is outside is made again where the cell is updated.
// CHECK-LABEL: func.func @place(
// CHECK: scf.parallel
// CHECK: scf.parallel
// CHECK: %[[NEXT:.*]] = arith.addi %arg2, %{{.*}} : i32
// CHECK: %[[PLACE:.*]] = arith.index_cast %[[NEXT]] : i32 to index
// CHECK-NEXT: field.atomic add %{{.*}}, %arg1[%[[PLACE]]] {field.plain}
func.func @place(%x: !field.array<f32, [1000]>, %s: !field.array<f32, [4]>, %t: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c1_i32 = arith.constant 1 : i32
  %c1000 = arith.constant 1000 : index
  scf.parallel (%i) = (%c0) to (%c1000) step (%c1) {
    %v = "field.load"(%x, %i) : (!field.array<f32, [1000]>, index) -> f32
    %next = arith.addi %t, %c1_i32 : i32
    %place = arith.index_cast %next : i32 to index
    %o = "field.atomic"(%v, %s, %place) {kind = "add", field.reduce} : (f32, !field.array<f32, [4]>, index) -> f32
    scf.reduce
  }
  return
}

// A block that no GPU has is left to be refused.
// CHECK-LABEL: func.func @too_large(
// CHECK: field.atomic add {{.*}} {field.reduce}
// CHECK: {block_dim = 2048 : i64}
func.func @too_large(%x: !field.array<f32, [1000]>, %s: !field.array<f32, []>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c1000 = arith.constant 1000 : index
  scf.parallel (%i) = (%c0) to (%c1000) step (%c1) {
    %v = "field.load"(%x, %i) : (!field.array<f32, [1000]>, index) -> f32
    %o = "field.atomic"(%v, %s) {kind = "add", field.reduce} : (f32, !field.array<f32, []>) -> f32
    scf.reduce
  } {block_dim = 2048 : i64}
  return
}
