// RUN: mlirad-opt %s --split-parallel-loops=threads=2 | filecheck %s
// RUN: mlirad-opt %s --split-parallel-loops=threads=2 --mlir-print-op-generic | mlirad-opt - | filecheck %s

// CHECK-LABEL: func.func @small_loop_on_one_thread
// CHECK-NOT: scf.parallel
// CHECK: call @small_loop_on_one_thread.chunk0(%c0, %c16,
// CHECK-NEXT: return
func.func @small_loop_on_one_thread(%x: !field.array<f32, [16]>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    "field.store"(%v, %x, %i) : (f32, !field.array<f32, [16]>, index) -> ()
  }
  return
}

// CHECK-LABEL: func.func @unknown_length
// CHECK: %[[ENOUGH:.*]] = arith.cmpi sge
// CHECK-NEXT: scf.if %[[ENOUGH]]
// CHECK: scf.parallel
// CHECK: func.call @unknown_length.chunk0
// CHECK: } else {
// CHECK: func.call @unknown_length.chunk0(%c0, %arg1,
func.func @unknown_length(%x: !field.array<f32, [-1]>, %n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    "field.store"(%v, %x, %i) : (f32, !field.array<f32, [-1]>, index) -> ()
  }
  return
}

// CHECK-LABEL: func.func @reduction
// CHECK: %[[SUM:.*]] = call @reduction.chunk0
// CHECK-NEXT: field.atomic add %[[SUM]], %arg1[] {field.plain}
func.func @reduction(%x: !field.array<f32, [16]>, %s: !field.array<f32, []>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
    %o = "field.atomic"(%v, %s) {kind = "add", field.reduce} : (f32, !field.array<f32, []>) -> f32
  }
  return
}

// CHECK-LABEL: func.func @reduction_to_an_element
// CHECK: %[[SUM:.*]] = call @reduction_to_an_element.chunk0
// CHECK: %[[NEXT:.*]] = arith.addi %arg2, %{{.*}} : i32
// CHECK: %[[PLACE:.*]] = arith.index_cast %[[NEXT]] : i32 to index
// CHECK-NEXT: field.atomic add %[[SUM]], %arg1[%[[PLACE]]] {field.plain}
func.func @reduction_to_an_element(%x: !field.array<f32, [16]>, %s: !field.array<f32, [4]>, %t: i32, %test: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c1_i32 = arith.constant 1 : i32
  %c16 = arith.constant 16 : index
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    scf.if %test {
      %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
      %next = arith.addi %t, %c1_i32 : i32
      %place = arith.index_cast %next : i32 to index
      %o = "field.atomic"(%v, %s, %place) {kind = "add", field.reduce} : (f32, !field.array<f32, [4]>, index) -> f32
    }
  }
  return
}

// CHECK-LABEL: func.func @cut_along_its_axis
// CHECK: call @cut_along_its_axis.chunk0(%c0, %c16,
func.func @cut_along_its_axis(%x: !field.array<f32, [2, 16]>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  scf.parallel (%i, %j) = (%c0, %c0) to (%c2, %c16) step (%c1, %c1) {
    "field.store"(%v, %x, %i, %j) : (f32, !field.array<f32, [2, 16]>, index, index) -> ()
  } {field.axis = 1 : i64}
  return
}

// Atomics of a loop that does little beside them cost more than a second thread gives: it stays on one, and they are plain.
// CHECK-LABEL: func.func @scatters
// CHECK-NOT: scf.parallel
// CHECK: call @scatters.chunk0(%c0, %c1000000,
// CHECK-NEXT: return
func.func @scatters(%x: !field.array<f32, [16]>, %k: !field.array<i32, [1000000]>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 1000000 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %at = "field.load"(%k, %i) : (!field.array<i32, [1000000]>, index) -> i32
    %j = arith.index_cast %at : i32 to index
    %old = "field.atomic"(%v, %x, %j) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
  }
  return
}

// Beside much arithmetic they do not matter.
// CHECK-LABEL: func.func @computes
// CHECK: scf.parallel
func.func @computes(%x: !field.array<f32, [16]>, %k: !field.array<i32, [1000000]>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c100 = arith.constant 100 : index
  %n = arith.constant 1000000 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %at = "field.load"(%k, %i) : (!field.array<i32, [1000000]>, index) -> i32
    %j = arith.index_cast %at : i32 to index
    %w = scf.for %t = %c0 to %c100 step %c1 iter_args(%s = %v) -> f32 {
      %u = arith.mulf %s, %s : f32
      scf.yield %u : f32
    }
    %old = "field.atomic"(%w, %x, %j) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
  }
  return
}

// The name that a program gave to a loop is in its location, and goes into the symbol.
// CHECK-LABEL: func.func @named
// CHECK: call @named.chunk0.fill_all(
func.func @named(%x: !field.array<f32, [16]>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    "field.store"(%v, %x, %i) : (f32, !field.array<f32, [16]>, index) -> ()
  } loc("loop fill all"("program.py":3:5))
  return
}

// CHECK-LABEL: func.func private @small_loop_on_one_thread.chunk0(%arg0: index, %arg1: index
// CHECK: scf.for %[[I:.*]] = %arg0 to %arg1
// CHECK-NEXT: field.store %{{.*}}, %{{.*}}[%[[I]]]
// CHECK: {field.any_order}

// CHECK-LABEL: func.func private @unknown_length.chunk0

// CHECK-LABEL: func.func private @reduction.chunk0
// CHECK-SAME: -> f32
// CHECK-NOT: field.atomic
// CHECK: return %{{.*}} : f32

// CHECK-LABEL: func.func private @cut_along_its_axis.chunk0
// CHECK: scf.for %[[J:.*]] = %arg0 to %arg1
// CHECK-NEXT: scf.for %[[I:.*]] = %c0{{.*}} to %c2
// CHECK-NEXT: field.store %{{.*}}, %{{.*}}[%[[I]], %[[J]]]

// CHECK-LABEL: func.func private @scatters.chunk0
// CHECK: field.atomic add {{.*}} {field.plain}
// CHECK-LABEL: func.func private @computes.chunk0
// CHECK: field.atomic add
