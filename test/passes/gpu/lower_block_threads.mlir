// RUN: mlirad-opt %s --split-input-file --lower-block-loops=threads=true --canonicalize --cse --lower-block-threads --mem2reg --canonicalize --cse | filecheck %s
// RUN: mlirad-opt %s --split-input-file --lower-block-loops=threads=true --canonicalize --cse --lower-block-threads --lower-block-threads --mem2reg --canonicalize --cse | filecheck %s

// A thread of the machine for each of a block: they clear what they share, and wait for one another
// where they see it. What a thread has for itself is a value.
// CHECK-LABEL: func.func @shared
// CHECK: scf.parallel (%{{.*}}) = (%c0) to (%c64)
// CHECK: %[[T:.*]] = gpu.thread_id
// CHECK: %[[S:.*]] = field.shared : !field.array<f32, [32]>
// CHECK: scf.for %[[K:.*]] = %[[T]] to %c32 step %c32
// CHECK: gpu.barrier
// CHECK: field.store %{{.*}}, %[[S]]
// CHECK: gpu.barrier
// CHECK: field.load %[[S]]
// CHECK: field.store
// CHECK-NOT: gpu.barrier
// CHECK: block_dim = 32 : i64
func.func @shared(%x: !field.array<f32, [64]>, %y: !field.array<f32, [64]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c31 = arith.constant 31 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  scf.parallel (%i) = (%c0) to (%c64) step (%c1) {
    %s = "field.shared"() : () -> !field.array<f32, [32]>
    %v = "field.load"(%x, %i) : (!field.array<f32, [64]>, index) -> f32
    %t = arith.remui %i, %c32 : index
    "field.store"(%v, %s, %t) : (f32, !field.array<f32, [32]>, index) -> ()
    "field.sync"() : () -> ()
    %u = arith.subi %c31, %t : index
    %w = "field.load"(%s, %u) : (!field.array<f32, [32]>, index) -> f32
    "field.store"(%w, %y, %i) : (f32, !field.array<f32, [64]>, index) -> ()
    scf.reduce
  } {block_dim = 32 : i64}
  return
}

// -----

// Values of other threads of a group come by shuffles, of all threads, even if some of them have no
// iteration; there is nothing to wait for.
// CHECK-LABEL: func.func @shuffle
// CHECK: scf.parallel
// CHECK-NOT: field.shared
// CHECK-NOT: gpu.barrier
// CHECK: scf.if
// CHECK: field.load
// CHECK: gpu.shuffle idx
// CHECK: scf.if
// CHECK: field.store
func.func @shuffle(%x: !field.array<f32, [60]>, %y: !field.array<f32, [60]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c60 = arith.constant 60 : index
  scf.parallel (%i) = (%c0) to (%c60) step (%c1) {
    %v = "field.load"(%x, %i) : (!field.array<f32, [60]>, index) -> f32
    %w = "field.shuffle"(%v, %c3) : (f32, index) -> f32
    "field.store"(%w, %y, %i) : (f32, !field.array<f32, [60]>, index) -> ()
    scf.reduce
  } {block_dim = 32 : i64}
  return
}

// -----

// More than a block has memory for: one thread runs a block.
// CHECK-LABEL: func.func @large
// CHECK-NOT: gpu.
// CHECK-NOT: field.threads
// CHECK: field.alloca : !field.array<f32, [20000]>
// CHECK-NOT: gpu.
func.func @large(%x: !field.array<f32, [64]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.parallel (%i) = (%c0) to (%c64) step (%c1) {
    %s = "field.shared"() : () -> !field.array<f32, [20000]>
    %v = "field.load"(%x, %i) : (!field.array<f32, [64]>, index) -> f32
    "field.store"(%v, %s, %i) : (f32, !field.array<f32, [20000]>, index) -> ()
    "field.sync"() : () -> ()
    %w = "field.load"(%s, %c0) : (!field.array<f32, [20000]>, index) -> f32
    "field.store"(%w, %x, %i) : (f32, !field.array<f32, [64]>, index) -> ()
    scf.reduce
  } {block_dim = 32 : i64}
  return
}
