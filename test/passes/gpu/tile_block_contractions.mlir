// RUN: mlirad-opt %s --tile-block-contractions=least=1000 | filecheck %s
// RUN: mlirad-opt %s --tile-block-contractions=least=1000 --tile-block-contractions=least=1000 | filecheck %s

// A block brings panels of both factors to its memory, and waits; its threads multiply those, while
// they read the next ones. What is done with a sum, a thread does for each of its own.
// CHECK-LABEL: func.func @product(
// CHECK: scf.parallel (%{{.*}}) = (%c0{{.*}}) to (%c256{{.*}})
// CHECK: gpu.block_id
// CHECK: gpu.thread_id
// CHECK: %[[A:.*]] = field.shared : !field.array<f32, [2, 32, 9, 4]>
// CHECK: %[[B:.*]] = field.shared : !field.array<f32, [2, 32, 9, 4]>
// CHECK: field.load %arg0
// CHECK: field.store %{{.*}}, %[[A]]
// CHECK: field.load %arg1
// CHECK: field.store %{{.*}}, %[[B]]
// CHECK: gpu.barrier
// CHECK: %[[SUMS:.*]]:16 = scf.for
// CHECK: field.load %arg0
// CHECK: field.load %arg1
// CHECK: field.load %[[A]]
// CHECK: field.load %[[B]]
// CHECK: arith.mulf
// CHECK: arith.addf {{.*}} {field.loose}
// CHECK: field.store %{{.*}}, %[[A]]
// CHECK: gpu.barrier
// CHECK: scf.yield
// CHECK: %[[BIAS:.*]] = field.load %arg2
// CHECK: %[[TOTAL:.*]] = arith.addf %[[BIAS]], %[[SUMS]]#0
// CHECK: field.store %[[TOTAL]], %arg3
// CHECK: {block_dim = 64 : i64, field.threads = 64 : i64, field.whole_blocks}
// CHECK-NOT: scf.parallel
// CHECK: return
func.func @product(
    %a: !field.array<f32, [64, 40]>, %b: !field.array<f32, [40, 64]>,
    %bias: !field.array<f32, [64]>, %c: !field.array<f32, [64, 64]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c40 = arith.constant 40 : index
  %c64 = arith.constant 64 : index
  scf.parallel (%i, %j) = (%c0, %c0) to (%c64, %c64) step (%c1, %c1) {
    %first = "field.load"(%bias, %j) : (!field.array<f32, [64]>, index) -> f32
    %sum = scf.for %k = %c0 to %c40 step %c1 iter_args(%s = %first) -> (f32) {
      %x = "field.load"(%a, %i, %k) : (!field.array<f32, [64, 40]>, index, index) -> f32
      %y = "field.load"(%b, %k, %j) : (!field.array<f32, [40, 64]>, index, index) -> f32
      %p = arith.mulf %x, %y {field.loose} : f32
      %t = arith.addf %s, %p {field.loose} : f32
      scf.yield %t : f32
    }
    "field.store"(%sum, %c, %i, %j) : (f32, !field.array<f32, [64, 64]>, index, index) -> ()
    scf.reduce
  }
  return
}

// Every iteration adds one product to an element: for an element, it is a sum.
// CHECK-LABEL: func.func @updates(
// CHECK: scf.parallel
// CHECK: field.shared
// CHECK: scf.for
// CHECK: field.atomic add {{.*}}, %arg2{{.*}} {field.loose, field.plain}
// CHECK: field.threads
// CHECK-NOT: scf.parallel
// CHECK: return
func.func @updates(
    %a: !field.array<f32, [64, 40]>, %b: !field.array<f32, [40, 64]>,
    %c: !field.array<f32, [64, 64]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c40 = arith.constant 40 : index
  %c64 = arith.constant 64 : index
  scf.parallel (%i, %j, %k) = (%c0, %c0, %c0) to (%c64, %c64, %c40) step (%c1, %c1, %c1) {
    %x = "field.load"(%a, %i, %k) : (!field.array<f32, [64, 40]>, index, index) -> f32
    %y = "field.load"(%b, %k, %j) : (!field.array<f32, [40, 64]>, index, index) -> f32
    %p = arith.mulf %x, %y {field.loose} : f32
    %o = "field.atomic"(%p, %c, %i, %j) {kind = "add", field.loose} : (f32, !field.array<f32, [64, 64]>, index, index) -> f32
    scf.reduce
  }
  return
}

// Few sums of many products: blocks make parts, in memory of the launch. Where nothing is
// multiplied, 0 times an infinite number may have made a NaN: then the sum is made as the loop does.
// CHECK-LABEL: func.func @parts(
// CHECK: %[[PARTS:.*]] = field.get @"$launch.0" : !field.array<f32, [65536]>
// CHECK: scf.parallel
// CHECK: field.shared
// CHECK: scf.if
// CHECK: field.load %arg0
// CHECK: field.store %{{.*}}, %[[PARTS]]
// CHECK: field.threads
// CHECK: scf.parallel
// CHECK: %[[SUM:.*]] = scf.for {{.*}} to %c64
// CHECK: field.load %[[PARTS]]
// CHECK: %[[NAN:.*]] = arith.cmpf uno, %[[SUM]], %[[SUM]]
// CHECK: %[[TOTAL:.*]] = scf.if %[[NAN]]
// CHECK: scf.for {{.*}} to %c16384
// CHECK: } else {
// CHECK: scf.yield %[[SUM]]
// CHECK: field.store %[[TOTAL]], %arg2
// CHECK: return
func.func @parts(
    %a: !field.array<f32, [32, 16384]>, %b: !field.array<f32, [16384, 32]>,
    %c: !field.array<f32, [32, 32]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c16384 = arith.constant 16384 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i, %j) = (%c0, %c0) to (%c32, %c32) step (%c1, %c1) {
    %sum = scf.for %k = %c0 to %c16384 step %c1 iter_args(%s = %zero) -> (f32) {
      %edge = arith.addi %k, %i : index
      %inside = arith.cmpi slt, %edge, %c16384 : index
      %t = scf.if %inside -> (f32) {
        %x = "field.load"(%a, %i, %k) : (!field.array<f32, [32, 16384]>, index, index) -> f32
        %y = "field.load"(%b, %k, %j) : (!field.array<f32, [16384, 32]>, index, index) -> f32
        %p = arith.mulf %x, %y {field.loose} : f32
        %u = arith.addf %s, %p {field.loose} : f32
        scf.yield %u : f32
      } else {
        scf.yield %s : f32
      }
      scf.yield %t : f32
    }
    "field.store"(%sum, %c, %i, %j) : (f32, !field.array<f32, [32, 32]>, index, index) -> ()
    scf.reduce
  }
  return
}

// Left as they are: sums that decisions are made of, factors that iterations change, and loops of
// which the program names the blocks.
// CHECK-LABEL: func.func @others(
// CHECK-NOT: field.shared
// CHECK: return
func.func @others(
    %a: !field.array<f32, [64, 64]>, %b: !field.array<f32, [64, 64]>,
    %c: !field.array<f32, [64, 64]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i, %j) = (%c0, %c0) to (%c64, %c64) step (%c1, %c1) {
    %sum = scf.for %k = %c0 to %c64 step %c1 iter_args(%s = %zero) -> (f32) {
      %x = "field.load"(%a, %i, %k) : (!field.array<f32, [64, 64]>, index, index) -> f32
      %y = "field.load"(%b, %k, %j) : (!field.array<f32, [64, 64]>, index, index) -> f32
      %p = arith.mulf %x, %y {field.exact} : f32
      %t = arith.addf %s, %p {field.exact} : f32
      scf.yield %t : f32
    }
    "field.store"(%sum, %c, %i, %j) : (f32, !field.array<f32, [64, 64]>, index, index) -> ()
    scf.reduce
  }
  scf.parallel (%i, %j) = (%c0, %c0) to (%c64, %c64) step (%c1, %c1) {
    %sum = scf.for %k = %c0 to %c64 step %c1 iter_args(%s = %zero) -> (f32) {
      %x = "field.load"(%a, %i, %k) : (!field.array<f32, [64, 64]>, index, index) -> f32
      %y = "field.load"(%b, %k, %j) : (!field.array<f32, [64, 64]>, index, index) -> f32
      %p = arith.mulf %x, %y {field.loose} : f32
      %t = arith.addf %s, %p {field.loose} : f32
      scf.yield %t : f32
    }
    "field.store"(%sum, %a, %i, %j) : (f32, !field.array<f32, [64, 64]>, index, index) -> ()
    scf.reduce
  }
  scf.parallel (%i, %j) = (%c0, %c0) to (%c64, %c64) step (%c1, %c1) {
    %sum = scf.for %k = %c0 to %c64 step %c1 iter_args(%s = %zero) -> (f32) {
      %x = "field.load"(%a, %i, %k) : (!field.array<f32, [64, 64]>, index, index) -> f32
      %y = "field.load"(%b, %k, %j) : (!field.array<f32, [64, 64]>, index, index) -> f32
      %p = arith.mulf %x, %y {field.loose} : f32
      %t = arith.addf %s, %p {field.loose} : f32
      scf.yield %t : f32
    }
    "field.store"(%sum, %c, %i, %j) : (f32, !field.array<f32, [64, 64]>, index, index) -> ()
    scf.reduce
  } {block_dim = 256 : i64}
  return
}
