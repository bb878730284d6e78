// RUN: mlirad-opt %s --split-pair-sums=least=1000 | filecheck %s
// RUN: mlirad-opt %s --split-pair-sums=least=1000 --split-pair-sums=least=1000 | filecheck %s

// A block brings 128 elements at a time to its memory, and waits; a thread adds a term of each to
// the sums of four iterations, and leaves them for the loop.
// CHECK-LABEL: func.func @pairs(
// CHECK: %[[PARTS:.*]] = field.get @"$launch.0" : !field.array<f32, [4096]>
// CHECK: scf.parallel (%{{.*}}) = (%c0{{.*}}) to (%c1024{{.*}})
// CHECK: %[[SHARED:.*]] = field.shared : !field.array<f32, [2, 128, 2]>
// CHECK: field.load %arg0
// CHECK: field.load %arg1
// CHECK: field.store %{{.*}}, %[[SHARED]]
// CHECK: gpu.barrier
// CHECK: field.load %arg0
// CHECK: %[[TILES:.*]]:4 = scf.for %{{.*}} to %c8
// CHECK: scf.for %{{.*}} to %c128
// CHECK: field.load %[[SHARED]]
// CHECK: field.load %[[SHARED]]
// CHECK-NOT: field.load
// CHECK-COUNT-4: arith.addf
// CHECK: gpu.barrier
// CHECK: field.store %[[TILES]]#0, %[[PARTS]]
// CHECK: {block_dim = 128 : i64, field.threads = 128 : i64, field.whole_blocks}
// CHECK: scf.parallel
// CHECK: %[[SUM:.*]] = scf.for %{{.*}} to %c2
// CHECK: field.load %[[PARTS]]
// CHECK: field.store %[[SUM]], %arg2
// CHECK: return
func.func @pairs(
    %x: !field.array<f32, [2048]>, %m: !field.array<f32, [2048]>, %y: !field.array<f32, [2048]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 2048 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %a = "field.load"(%x, %i) : (!field.array<f32, [2048]>, index) -> f32
    %sum = scf.for %j = %c0 to %n step %c1 iter_args(%s = %zero) -> (f32) {
      %b = "field.load"(%x, %j) : (!field.array<f32, [2048]>, index) -> f32
      %w = "field.load"(%m, %j) : (!field.array<f32, [2048]>, index) -> f32
      %d = arith.subf %a, %b {field.loose} : f32
      %p = arith.mulf %d, %w {field.loose} : f32
      %t = arith.addf %s, %p {field.loose} : f32
      scf.yield %t : f32
    }
    "field.store"(%sum, %y, %i) : (f32, !field.array<f32, [2048]>, index) -> ()
    scf.reduce
  }
  return
}

// Left as they are: what has an order, what iterations change, and loops of which the program names
// the blocks.
// CHECK-LABEL: func.func @others(
// CHECK-NOT: field.shared
// CHECK: return
func.func @others(%x: !field.array<f32, [2048]>, %y: !field.array<f32, [2048]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 2048 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %sum = scf.for %j = %c0 to %n step %c1 iter_args(%s = %zero) -> (f32) {
      %b = "field.load"(%x, %j) : (!field.array<f32, [2048]>, index) -> f32
      %t = arith.addf %s, %b {field.exact} : f32
      scf.yield %t : f32
    }
    "field.store"(%sum, %y, %i) : (f32, !field.array<f32, [2048]>, index) -> ()
    scf.reduce
  }
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %last = scf.for %j = %c0 to %n step %c1 iter_args(%s = %zero) -> (f32) {
      %b = "field.load"(%x, %j) : (!field.array<f32, [2048]>, index) -> f32
      %h = arith.mulf %s, %b {field.loose} : f32
      %t = arith.addf %h, %b {field.loose} : f32
      scf.yield %t : f32
    }
    "field.store"(%last, %y, %i) : (f32, !field.array<f32, [2048]>, index) -> ()
    scf.reduce
  }
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %sum = scf.for %j = %c0 to %n step %c1 iter_args(%s = %zero) -> (f32) {
      %b = "field.load"(%x, %j) : (!field.array<f32, [2048]>, index) -> f32
      %t = arith.addf %s, %b {field.loose} : f32
      scf.yield %t : f32
    }
    "field.store"(%sum, %x, %i) : (f32, !field.array<f32, [2048]>, index) -> ()
    scf.reduce
  }
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %sum = scf.for %j = %c0 to %n step %c1 iter_args(%s = %zero) -> (f32) {
      %b = "field.load"(%x, %j) : (!field.array<f32, [2048]>, index) -> f32
      %t = arith.addf %s, %b {field.loose} : f32
      scf.yield %t : f32
    }
    "field.store"(%sum, %y, %i) : (f32, !field.array<f32, [2048]>, index) -> ()
    scf.reduce
  } {block_dim = 64 : i64}
  return
}
