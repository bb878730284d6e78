// RUN: mlirad-opt %s --lower-field-to-memref | filecheck %s
// RUN: mlirad-opt %s --lower-field-to-memref --lower-field-to-memref | filecheck %s

// CHECK: field.trees = [{body = [{axes = [0]
// CHECK-SAME: {component_shape = [3], element = f32, op = "place", sym_name = "x"}
// CHECK-SAME: sym_name = "S0"}]
// CHECK-NOT: snode
"snode.root"() ({
  "snode.dense"() ({
    "snode.dense"() ({
      "snode.place"() {sym_name = "x", element = f32, component_shape = [3]} : () -> ()
      "snode.place"() {sym_name = "y", element = f64, component_shape = []} : () -> ()
    }) {axes = [0], extents = [4]} : () -> ()
  }) {axes = [0], extents = [8]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// CHECK-LABEL: func.func @field_in_two_blocks
// CHECK-SAME: %arg2: !llvm.ptr {field.symbol = @x, llvm.noalias}
// CHECK: %[[OUTER:.*]] = arith.divui %arg0,
// CHECK: %[[INNER:.*]] = arith.remui %arg0,
// CHECK-NEXT: memref.store %{{.*}}[%[[OUTER]], %[[INNER]], %arg1] : memref<8x4x3xf32, strided<[24, 6, 1]>>
func.func @field_in_two_blocks(%i: index, %j: index) {
  %v = arith.constant 1.0 : f32
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [32, 3]>
  "field.store"(%v, %x, %i, %j) : (f32, !field.array<f32, [32, 3]>, index, index) -> ()
  return
}

// The loop tells which cell `4 * cell + k` lies in, and where; `4 * cell + k + 1` may lie in the next one.
// CHECK-LABEL: func.func @cells
// CHECK: scf.for %[[K:.*]] = %{{.*}} to
// CHECK-NOT: arith.divui
// CHECK: memref.load %{{.*}}[%arg0, %[[K]], %{{.*}}] : memref<8x4x3xf32, strided<[24, 6, 1]>>
// CHECK: %[[OUTER:.*]] = arith.divui
// CHECK: %[[INNER:.*]] = arith.remui
// CHECK: memref.store %{{.*}}[%[[OUTER]], %[[INNER]], %{{.*}}]
func.func @cells(%cell: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [32, 3]>
  scf.for %k = %c0 to %c4 step %c1 {
    %first = arith.muli %cell, %c4 : index
    %i = arith.addi %first, %k : index
    %next = arith.addi %i, %c1 : index
    %v = "field.load"(%x, %i, %c0) : (!field.array<f32, [32, 3]>, index, index) -> f32
    "field.store"(%v, %x, %next, %c0) : (f32, !field.array<f32, [32, 3]>, index, index) -> ()
  }
  return
}

// CHECK-LABEL: func.func @ndarray
// CHECK-SAME: (%arg0: !llvm.ptr {{{.*}}}, %arg1: index, %arg2: index)
// CHECK: memref.load %{{.*}}[%arg2, %arg2] : memref<?x2xf32>
func.func @ndarray(%x: !field.array<f32, [-1, 2]>, %i: index) {
  %v = "field.load"(%x, %i, %i) : (!field.array<f32, [-1, 2]>, index, index) -> f32
  return
}

// CHECK-LABEL: func.func @labels
// CHECK-SAME: %arg0: !llvm.ptr {field.argument = 0 : i64, field.array = !field.array<f32, [-1, 2]>, llvm.noalias}
// CHECK-SAME: %arg1: index {field.argument = 0 : i64, field.extent = 0 : i64}
// CHECK-SAME: %arg2: i32 {field.argument = 1 : i64}
// CHECK-SAME: %arg3: !llvm.ptr {field.adjoint, field.argument = 0 : i64, field.array = !field.array<f32, [-1, 2]>, llvm.noalias}
// CHECK-SAME: %arg4: index {field.adjoint, field.argument = 0 : i64, field.extent = 0 : i64}
func.func @labels(%x: !field.array<f32, [-1, 2]> {field.argument = 0 : i64}, %n: i32 {field.argument = 1 : i64},
                  %a: !field.array<f32, [-1, 2]> {field.adjoint, field.argument = 0 : i64}) {
  return
}

// What is written to is told apart from what is only read.
// CHECK-LABEL: func.func @written
// CHECK-SAME: %arg0: !llvm.ptr {field.argument = 0 : i64, field.array = !field.array<f32, [2]>, field.written, llvm.noalias}
// CHECK-SAME: %arg1: !llvm.ptr {field.argument = 1 : i64, field.array = !field.array<f32, [2]>, llvm.noalias}
func.func @written(%x: !field.array<f32, [2]> {field.argument = 0 : i64}, %y: !field.array<f32, [2]> {field.argument = 1 : i64},
                   %i: index) {
  %v = "field.load"(%y, %i) : (!field.array<f32, [2]>, index) -> f32
  "field.store"(%v, %x, %i) : (f32, !field.array<f32, [2]>, index) -> ()
  return
}

// CHECK-LABEL: func.func @extents
// CHECK: %[[TWO:.*]] = arith.constant 2 : index
// CHECK: arith.addi %arg1, %[[TWO]]
func.func @extents(%x: !field.array<f32, [-1, 2]>) {
  %n = "field.dim"(%x) {axis = 0} : (!field.array<f32, [-1, 2]>) -> index
  %two = "field.dim"(%x) {axis = 1} : (!field.array<f32, [-1, 2]>) -> index
  %sum = arith.addi %n, %two : index
  return
}

// CHECK-LABEL: func.func @result_through_pointer
// CHECK-SAME: %arg1: !llvm.ptr {field.results = [f32]})
// CHECK: %[[PLACE:.*]] = llvm.getelementptr %arg1[0]
// CHECK-NEXT: llvm.store %arg0, %[[PLACE]]
func.func @result_through_pointer(%v: f32) -> f32 {
  return %v : f32
}

// CHECK-LABEL: func.func @local_cell_is_zeroed
// CHECK: %[[CELL:.*]] = memref.alloca() : memref<f32>
// CHECK: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: memref.store %[[ZERO]], %[[CELL]][]
// CHECK-NEXT: memref.store %arg0, %[[CELL]][]
func.func @local_cell_is_zeroed(%v: f32) {
  %a = "field.alloca"() : () -> !field.array<f32, []>
  "field.store"(%v, %a) : (f32, !field.array<f32, []>) -> ()
  return
}

// CHECK-LABEL: func.func @local_array_is_cleared_on_the_heap
// CHECK: %[[ARRAY:.*]] = memref.alloc() : memref<2x4xi32>
// CHECK: %[[SIZE:.*]] = llvm.mlir.constant(32 : i64)
// CHECK: "llvm.intr.memset"(%{{.*}}, %{{.*}}, %[[SIZE]])
// CHECK-NEXT: memref.dealloc %[[ARRAY]]
func.func @local_array_is_cleared_on_the_heap() {
  %a = "field.alloca"() : () -> !field.array<i32, [2, 4]>
  return
}

// CHECK-LABEL: func.func @atomics
// CHECK: memref.atomic_rmw addf %arg1,
// CHECK: memref.atomic_rmw maxs %arg3,
// CHECK: memref.generic_atomic_rmw
// CHECK: %[[OLD:.*]] = memref.load
// CHECK: %[[NEW:.*]] = arith.addf %[[OLD]], %arg1
// CHECK-NEXT: memref.store %[[NEW]],
func.func @atomics(%x: !field.array<f32, []>, %v: f32, %n: !field.array<i32, []>, %k: i32) {
  %a = "field.atomic"(%v, %x) {kind = "add"} : (f32, !field.array<f32, []>) -> f32
  %b = "field.atomic"(%k, %n) {kind = "max"} : (i32, !field.array<i32, []>) -> i32
  %c = "field.atomic"(%v, %x) {kind = "max"} : (f32, !field.array<f32, []>) -> f32
  %d = "field.atomic"(%v, %x) {kind = "add", field.plain} : (f32, !field.array<f32, []>) -> f32
  return
}

// CHECK-LABEL: func.func private @callee_of_fields
// CHECK-SAME: %{{.*}}: !llvm.ptr {field.symbol = @y
func.func private @callee_of_fields() {
  %v = arith.constant 1.0 : f64
  %i = arith.constant 0 : index
  %y = "field.get"() {field = @y} : () -> !field.array<f64, [32]>
  "field.store"(%v, %y, %i) : (f64, !field.array<f64, [32]>, index) -> ()
  return
}

// CHECK-LABEL: func.func @caller_hands_on_fields
// CHECK-SAME: %[[Y:.*]]: !llvm.ptr {field.symbol = @y
// CHECK: call @callee_of_fields(%[[Y]])
func.func @caller_hands_on_fields() {
  func.call @callee_of_fields() : () -> ()
  return
}

// CHECK-LABEL: func.func @ticks
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.readcyclecounter"() : () -> i64
func.func @ticks(%a: !field.array<i64, [2]>, %i: index, %j: index) {
  %0 = "field.clock"() : () -> i64
  "field.store"(%0, %a, %i) : (i64, !field.array<i64, [2]>, index) -> ()
  %1 = "field.clock"() : () -> i64
  "field.store"(%1, %a, %j) : (i64, !field.array<i64, [2]>, index) -> ()
  return
}
