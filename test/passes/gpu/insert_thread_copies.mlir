// RUN: mlirad-opt %s --insert-thread-copies --canonicalize --cse | filecheck %s
// RUN: mlirad-opt %s --insert-thread-copies --insert-thread-copies --canonicalize --cse | filecheck %s

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "bins", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [4]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// 32,768 threads stride over the box, each with a column of four elements; a block for each element adds up the columns.
// CHECK-LABEL: func.func @bins(
// CHECK: %[[COPIES:.*]] = field.get @"$launch.0" : !field.array<f32, [131072]>
// CHECK: scf.parallel (%[[T:.*]]) = (%c0) to (%c32768) step
// CHECK-NEXT: scf.for %[[C:.*]] = %c0 to %c4
// CHECK: %[[ROW:.*]] = arith.muli %[[C]], %c32768
// CHECK-NEXT: %[[AT:.*]] = arith.addi %[[ROW]], %[[T]]
// CHECK-NEXT: field.store %cst, %[[COPIES]][%[[AT]]]
// CHECK: scf.for %[[I:.*]] = %[[T]] to %c1000000 step %c32768
// CHECK: %[[ELEMENT:.*]] = arith.remui %[[I]], %c4
// CHECK: arith.muli %[[ELEMENT]], %c32768
// CHECK: %[[OLD:.*]] = field.load %[[COPIES]][%[[THERE:[0-9]+]]]
// CHECK-NEXT: %[[NEW:.*]] = arith.addf %[[OLD]]
// CHECK-NEXT: field.store %[[NEW]], %[[COPIES]][%[[THERE]]]
// CHECK: scf.parallel {{.*}} to (%c4096) step
// CHECK: gpu.all_reduce add
// CHECK: field.atomic add {{.*}} {field.derivative, field.plain}
// CHECK: {block_dim = 1024 : i64, field.whole_blocks}
func.func @bins(%v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c1000000 = arith.constant 1000000 : index
  %bins = "field.get"() {field = @bins} : () -> !field.array<f32, [4]>
  scf.parallel (%i) = (%c0) to (%c1000000) step (%c1) {
    %k = arith.remui %i, %c4 : index
    %o = "field.atomic"(%v, %bins, %k) {field.derivative, kind = "add"} : (f32, !field.array<f32, [4]>, index) -> f32
    scf.reduce
  }
  return
}

// Few updates stay atomic, as do those that are read, or exact.
// CHECK-LABEL: func.func @stay(
// CHECK-COUNT-3: field.atomic
// CHECK-NOT: gpu.all_reduce
// CHECK: return
func.func @stay(%v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c1000 = arith.constant 1000 : index
  %c1000000 = arith.constant 1000000 : index
  %bins = "field.get"() {field = @bins} : () -> !field.array<f32, [4]>
  scf.parallel (%i) = (%c0) to (%c1000) step (%c1) {
    %k = arith.remui %i, %c4 : index
    %o = "field.atomic"(%v, %bins, %k) {field.derivative, kind = "add"} : (f32, !field.array<f32, [4]>, index) -> f32
    scf.reduce
  }
  scf.parallel (%i) = (%c0) to (%c1000000) step (%c1) {
    %k = arith.remui %i, %c4 : index
    %o = "field.atomic"(%v, %bins, %k) {kind = "add", field.exact} : (f32, !field.array<f32, [4]>, index) -> f32
    scf.reduce
  }
  scf.parallel (%i) = (%c0) to (%c1000000) step (%c1) {
    %k = arith.remui %i, %c4 : index
    %o = "field.atomic"(%v, %bins, %k) {field.derivative, kind = "add"} : (f32, !field.array<f32, [4]>, index) -> f32
    %w = "field.load"(%bins, %k) : (!field.array<f32, [4]>, index) -> f32
    scf.reduce
  }
  return
}
