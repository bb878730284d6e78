// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --lower-block-loops --canonicalize --cse | filecheck %s
// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --lower-block-loops --lower-block-loops --canonicalize --cse | filecheck %s
// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --lower-block-loops=of-launch=true --canonicalize --cse | filecheck %s --check-prefix=LAUNCH

// A loop over blocks; the threads of one run up to where they wait, then behind it.
// CHECK-LABEL: func.func @shared
// CHECK: scf.parallel (%[[B:.*]]) = (%c0) to (%c2)
// CHECK: %[[S:.*]] = field.alloca : !field.array<f32, [32]>
// CHECK: scf.for %[[T:.*]] = %c0 to %c32
// CHECK: field.store %{{.*}}, %[[S]]
// CHECK: scf.for
// CHECK: field.load %[[S]]
// Of a launch, each block has a part of one array.
// LAUNCH-LABEL: func.func @shared
// LAUNCH: %[[S:.*]] = field.alloca : !field.array<f32, [2, 32]>
// LAUNCH: scf.parallel (%[[B:.*]]) =
// LAUNCH: field.store %{{.*}}, %[[S]][%[[B]], %{{.*}}]
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

// A loop that all threads run runs once for the block; what it carries is an array. Threads beyond
// the last iteration do nothing.
// CHECK-LABEL: func.func @sum
// CHECK: scf.parallel
// CHECK: scf.for %{{.*}} = %c0 to %c5
// CHECK: scf.for
// CHECK: arith.cmpi slt
// CHECK: scf.if
// CHECK: scf.for
func.func @sum(%x: !field.array<f32, [60]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c60 = arith.constant 60 : index
  scf.parallel (%i) = (%c0) to (%c60) step (%c1) {
    %v = "field.load"(%x, %i) : (!field.array<f32, [60]>, index) -> f32
    %r = scf.for %k = %c0 to %c5 step %c1 iter_args(%a = %v) -> f32 {
      %w = "field.shuffle"(%a, %k) : (f32, index) -> f32
      %b = arith.addf %a, %w : f32
      scf.yield %b : f32
    }
    "field.store"(%r, %x, %i) : (f32, !field.array<f32, [60]>, index) -> ()
    scf.reduce
  } {block_dim = 32 : i64}
  return
}

// -----

// Where trips differ, it runs while one of the threads has some left.
// CHECK-LABEL: func.func @unequal
// CHECK: scf.while
// CHECK: arith.ori
// CHECK: scf.condition
func.func @unequal(%y: !field.array<i32, [64]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %one = arith.constant 1 : i32
  %zero = arith.constant 0 : i32
  scf.parallel (%i) = (%c0) to (%c64) step (%c1) {
    %r = scf.for %k = %c0 to %i step %c1 iter_args(%a = %zero) -> i32 {
      %b = arith.addi %a, %one : i32
      "field.sync"() : () -> ()
      scf.yield %b : i32
    }
    "field.store"(%r, %y, %i) : (i32, !field.array<i32, [64]>, index) -> ()
    scf.reduce
  } {block_dim = 32 : i64}
  return
}

// -----

func.func @alone() {
  // expected-error @+1 {{'field.sync' outside of a parallel loop}}
  "field.sync"() : () -> ()
  return
}

// -----

func.func @large(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @+1 {{'block_dim' of threads that wait is 1 to 1024}}
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    "field.sync"() : () -> ()
    scf.reduce
  } {block_dim = 2048 : i64}
  return
}
