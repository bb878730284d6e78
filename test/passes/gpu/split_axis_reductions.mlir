// RUN: mlirad-opt %s --split-axis-reductions --mem2reg --canonicalize --cse | filecheck %s
// RUN: mlirad-opt %s --split-axis-reductions --split-axis-reductions --mem2reg --canonicalize --cse | filecheck %s

// A block for each row; what the loop does beside it is done once.
// CHECK-LABEL: func.func @rows(
// CHECK: scf.parallel {{.*}} to (%c128000) step
// CHECK: %[[ROW:.*]] = gpu.block_id
// CHECK: %[[T:.*]] = gpu.thread_id
// CHECK: %[[OWN:.*]] = scf.for %[[J:.*]] = %[[T]] to %c500 step %c128
// CHECK: field.load %arg0[%[[ROW]], %[[J]]]
// CHECK: field.store
// CHECK: %[[SUM:.*]] = gpu.all_reduce add %[[OWN]]
// CHECK: scf.if
// CHECK: %[[PLACE:.*]] = arith.addi %[[ROW]], %c1
// CHECK-NEXT: field.atomic add %[[SUM]], %arg1[%[[PLACE]]] {field.plain}
// CHECK: {block_dim = 128 : i64, field.whole_blocks}
// CHECK-NOT: scf.parallel
// CHECK: return
func.func @rows(%x: !field.array<f32, [1000, 500]>, %s: !field.array<f32, [1001]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c500 = arith.constant 500 : index
  %c1000 = arith.constant 1000 : index
  scf.parallel (%i, %j) = (%c0, %c0) to (%c1000, %c500) step (%c1, %c1) {
    %v = "field.load"(%x, %i, %j) : (!field.array<f32, [1000, 500]>, index, index) -> f32
    %k = arith.addi %i, %c1 : index
    %o = "field.atomic"(%v, %s, %k) {kind = "add"} : (f32, !field.array<f32, [1001]>, index) -> f32
    "field.store"(%v, %x, %i, %j) : (f32, !field.array<f32, [1000, 500]>, index, index) -> ()
    scf.reduce
  }
  return
}

// Few rows are of several blocks each, and a block for each row adds up their sums.
// CHECK-LABEL: func.func @few_rows(
// CHECK: %[[PARTS:.*]] = field.get @"$launch.0" : !field.array<f32, [2048]>
// CHECK: scf.parallel {{.*}} to (%c262144) step
// CHECK: gpu.all_reduce
// CHECK: field.store %{{.*}}, %[[PARTS]][%{{.*}}]
// CHECK: scf.parallel {{.*}} to (%c1024) step
// CHECK: scf.for
// CHECK: field.load %[[PARTS]][%{{.*}}]
// CHECK: gpu.all_reduce
// CHECK: field.atomic add {{.*}} {field.plain}
func.func @few_rows(%x: !field.array<f32, [4, 1000000]>, %s: !field.array<f32, [4]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c1000000 = arith.constant 1000000 : index
  scf.parallel (%i, %j) = (%c0, %c0) to (%c4, %c1000000) step (%c1, %c1) {
    %v = "field.load"(%x, %i, %j) : (!field.array<f32, [4, 1000000]>, index, index) -> f32
    %o = "field.atomic"(%v, %s, %i) {kind = "add"} : (f32, !field.array<f32, [4]>, index) -> f32
    scf.reduce
  }
  return
}

// A thread goes down a column, its neighbour down the next one; a short row is a thread's, too.
// CHECK-LABEL: func.func @columns(
// CHECK: scf.parallel (%[[J:.*]]) = (%c0) to (%c300000) step
// CHECK: scf.for %[[I:.*]] = %c0 to %c100 step %c1
// CHECK: field.load %arg0[%[[I]], %[[J]]]
// CHECK: field.atomic min %{{.*}}, %arg1[%[[J]]] {field.plain}
// CHECK: scf.parallel (%[[I:.*]]) = (%c0) to (%c300000) step
// CHECK: scf.for %[[J:.*]] = %c0 to %c3 step %c1
// CHECK: field.atomic add %{{.*}}, %arg1[%[[I]]] {field.plain}
func.func @columns(%x: !field.array<f32, [100, 300000]>, %s: !field.array<f32, [300000]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c100 = arith.constant 100 : index
  %c300000 = arith.constant 300000 : index
  scf.parallel (%i, %j) = (%c0, %c0) to (%c100, %c300000) step (%c1, %c1) {
    %v = "field.load"(%x, %i, %j) : (!field.array<f32, [100, 300000]>, index, index) -> f32
    %o = "field.atomic"(%v, %s, %j) {kind = "min"} : (f32, !field.array<f32, [300000]>, index) -> f32
    scf.reduce
  }
  scf.parallel (%i, %j) = (%c0, %c0) to (%c300000, %c3) step (%c1, %c1) {
    %v = "field.load"(%x, %j, %i) : (!field.array<f32, [100, 300000]>, index, index) -> f32
    %o = "field.atomic"(%v, %s, %i) {kind = "add"} : (f32, !field.array<f32, [300000]>, index) -> f32
    scf.reduce
  }
  return
}

// Sums that others see, that meet other accesses, or whose elements two rows may share, stay.
// CHECK-LABEL: func.func @stay(
// CHECK: scf.parallel (%{{.*}}, %{{.*}}) =
// CHECK-COUNT-4: field.atomic add {{.*}}
// CHECK-NOT: field.atomic
func.func @stay(%x: !field.array<f32, [100, 100]>, %r: !field.array<f32, [100]>, %s: !field.array<f32, [200]>,
                %t: !field.array<f32, [100]>, %half: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c100 = arith.constant 100 : index
  scf.parallel (%i, %j) = (%c0, %c0) to (%c100, %c100) step (%c1, %c1) {
    %v = "field.load"(%x, %i, %j) : (!field.array<f32, [100, 100]>, index, index) -> f32
    %o = "field.atomic"(%v, %r, %i) {kind = "add"} : (f32, !field.array<f32, [100]>, index) -> f32
    "field.store"(%o, %x, %i, %j) : (f32, !field.array<f32, [100, 100]>, index, index) -> ()
    %k = arith.addi %i, %half : index
    %p = "field.atomic"(%v, %s, %i) {kind = "add"} : (f32, !field.array<f32, [200]>, index) -> f32
    %q = "field.atomic"(%v, %s, %k) {kind = "add"} : (f32, !field.array<f32, [200]>, index) -> f32
    %l = arith.divsi %i, %half : index
    %w = "field.atomic"(%v, %t, %l) {kind = "add"} : (f32, !field.array<f32, [100]>, index) -> f32
    scf.reduce
  }
  return
}

// Of extents that are known at the launch only, the host chooses the parts: a warp sums one of a row, and leaves it in the row's
// element where it is the only one.
// CHECK-LABEL: func.func @open_rows(
// CHECK-SAME: %[[N:.*]]: index, %[[M:.*]]: index)
// CHECK: %[[PARTS:.*]] = arith.select
// CHECK: %[[KEPT:.*]] = field.get @"$launch.{{.*}}" : !field.array<f32, [8192]>
// CHECK: %[[BLOCKS:.*]] = arith.muli %{{.*}}, %[[PARTS]]
// CHECK: %[[THREADS:.*]] = arith.muli %[[BLOCKS]], %c32
// CHECK: scf.parallel {{.*}} to (%[[THREADS]]) step
// CHECK: %[[BLOCK:.*]] = gpu.block_id
// CHECK: arith.cmpi slt, %[[BLOCK]], %[[BLOCKS]]
// CHECK: gpu.all_reduce add
// CHECK: %[[WHOLE:.*]] = arith.cmpi eq, %[[PARTS]], %c1
// CHECK: scf.if %[[WHOLE]]
// CHECK-NEXT: field.atomic add {{.*}} {field.plain}
// CHECK-NEXT: else
// CHECK-NEXT: field.store %{{.*}}, %[[KEPT]][%[[BLOCK]]]
// CHECK: %[[SEVERAL:.*]] = arith.cmpi sgt, %[[PARTS]], %c1
// CHECK: arith.select %[[SEVERAL]], %{{.*}}, %c0
// CHECK: scf.parallel
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[PARTS]] step %c32
// CHECK: field.atomic add {{.*}} {field.plain}
// CHECK-NOT: field.atomic add
// CHECK: return
func.func @open_rows(%x: !field.array<f32, [-1, -1]>, %s: !field.array<f32, [-1]>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i, %j) = (%c0, %c0) to (%n, %m) step (%c1, %c1) {
    %v = "field.load"(%x, %i, %j) : (!field.array<f32, [-1, -1]>, index, index) -> f32
    %o = "field.atomic"(%v, %s, %i) {kind = "add"} : (f32, !field.array<f32, [-1]>, index) -> f32
    scf.reduce
  }
  return
}

// One known extent is enough for many columns: each is a thread's.
// CHECK-LABEL: func.func @open_columns(
// CHECK: scf.parallel (%[[J:.*]]) = (%c0) to (%c300000) step
// CHECK: field.atomic add %{{.*}}, %{{.*}}[%[[J]]] {field.plain}
// CHECK-NOT: scf.parallel
// CHECK: return
func.func @open_columns(%x: !field.array<f32, [-1, 300000]>, %s: !field.array<f32, [300000]>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c300000 = arith.constant 300000 : index
  scf.parallel (%i, %j) = (%c0, %c0) to (%n, %c300000) step (%c1, %c1) {
    %v = "field.load"(%x, %i, %j) : (!field.array<f32, [-1, 300000]>, index, index) -> f32
    %o = "field.atomic"(%v, %s, %j) {kind = "add"} : (f32, !field.array<f32, [300000]>, index) -> f32
    scf.reduce
  }
  return
}

// Few iterations are shared out, too, where each is a long loop; those of a sum that decisions are made of are not, for they have to
// be cut as in every mode.
// CHECK-LABEL: func.func @long_iterations(
// CHECK: %[[PARTS:.*]] = field.get @"$launch.{{.*}}" : !field.array<f32, [12800]>
// CHECK: scf.parallel {{.*}} to (%c12800) step
// CHECK-NOT: scf.for {{.*}} to %c64 step
// CHECK: scf.for {{.*}} to %c4096 step %c64
// CHECK: field.store %{{.*}}, %[[PARTS]]
// CHECK: field.atomic add {{.*}} {field.derivative, field.plain}
// CHECK: scf.parallel {{.*}} to (%c800) step
// CHECK: scf.for {{.*}} to %c64 step %c4
// CHECK: scf.for {{.*}} to %c4096 step %c64
func.func @long_iterations(%x: !field.array<f32, [4096, 200]>, %s: !field.array<f32, [200]>, %t: !field.array<f32, [200]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c200 = arith.constant 200 : index
  %c4096 = arith.constant 4096 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i, %j) = (%c0, %c0) to (%c64, %c200) step (%c1, %c1) {
    %v = scf.for %k = %i to %c4096 step %c64 iter_args(%sum = %zero) -> f32 {
      %a = "field.load"(%x, %k, %j) : (!field.array<f32, [4096, 200]>, index, index) -> f32
      %b = arith.addf %sum, %a {field.derivative} : f32
      scf.yield %b : f32
    }
    %o = "field.atomic"(%v, %s, %j) {kind = "add", field.derivative} : (f32, !field.array<f32, [200]>, index) -> f32
    scf.reduce
  }
  scf.parallel (%i, %j) = (%c0, %c0) to (%c64, %c200) step (%c1, %c1) {
    %v = scf.for %k = %i to %c4096 step %c64 iter_args(%sum = %zero) -> f32 {
      %a = "field.load"(%x, %k, %j) : (!field.array<f32, [4096, 200]>, index, index) -> f32
      %b = arith.addf %sum, %a {field.exact} : f32
      scf.yield %b : f32
    }
    %o = "field.atomic"(%v, %t, %j) {kind = "add", field.exact} : (f32, !field.array<f32, [200]>, index) -> f32
    scf.reduce
  }
  return
}
