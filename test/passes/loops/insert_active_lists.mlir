// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --insert-active-lists | filecheck %s
// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --insert-active-lists --insert-active-lists | filecheck %s

"snode.root"() ({
  "snode.pointer"() ({
    "snode.dense"() ({
      "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
    }) {axes = [0], extents = [16]} : () -> ()
  }) {axes = [0], extents = [8], activity = @p} : () -> ()
  "snode.dynamic"() ({
    "snode.place"() {sym_name = "l", element = i32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [64], activity = @d} : () -> ()
}) {sym_name = "S0"} : () -> ()
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "p", element = i8, component_shape = []} : () -> ()
  }) {axes = [0], extents = [8]} : () -> ()
  "snode.place"() {sym_name = "d", element = i32, component_shape = []} : () -> ()
}) {sym_name = "activities"} : () -> ()

// The cells are listed, eight bytes of activity at a time; of each, all elements are gone through without a test. No other cell's
// iterations reach an element.
// CHECK-LABEL: func.func @over_cells
// CHECK: %[[LIST:.*]] = memref.alloc(
// CHECK: %[[COUNT:.*]] = scf.for
// CHECK-COUNT-8: field.load %{{.*}} : i8
// CHECK: %[[ONES:.*]] = arith.constant 72340172838076673 : i64
// CHECK: %[[FLAGS:.*]] = arith.andi %{{.*}}, %[[ONES]] : i64
// CHECK: %[[ANY:.*]] = arith.cmpi ne, %[[FLAGS]]
// CHECK: scf.if %[[ANY]]
// CHECK: %[[SHIFTED:.*]] = arith.shrui %[[FLAGS]]
// CHECK: %[[FLAG:.*]] = arith.andi %[[SHIFTED]]
// CHECK: %[[ACTIVE:.*]] = arith.cmpi ne, %[[FLAG]]
// CHECK: scf.if %[[ACTIVE]]
// CHECK: memref.store %{{.*}}, %[[LIST]]
// CHECK: scf.parallel (%[[E:[^,]*]], %[[K:[^)]*]]) = (%{{.*}}, %{{.*}}) to (%[[COUNT]], %{{.*}})
// CHECK: %[[CELL:.*]] = memref.load %[[LIST]][%[[E]]]
// CHECK: %[[FIRST:.*]] = arith.muli %[[CELL]]
// CHECK: %[[I:.*]] = arith.addi %[[FIRST]], %[[K]]
// CHECK: %[[TRUE:.*]] = arith.constant true
// CHECK: scf.if %[[TRUE]]
// CHECK: field.atomic add %{{.*}}, %{{.*}}[%[[I]]] {field.plain}
// CHECK: memref.dealloc %[[LIST]]
func.func @over_cells(%v: f32) {
  %p = "field.get"() {field = @p} : () -> !field.array<i8, [8]>
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [128]>
  %one = arith.constant 1 : i8
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c128 = arith.constant 128 : index
  scf.parallel (%i) = (%c0) to (%c128) step (%c1) {
    %cell = arith.divui %i, %c16 : index
    %byte = "field.load"(%p, %cell) : (!field.array<i8, [8]>, index) -> i8
    %active = arith.cmpi eq, %byte, %one : i8
    scf.if %active {
      %old = "field.atomic"(%v, %x, %i) {kind = "add"} : (f32, !field.array<f32, [128]>, index) -> f32
    }
    scf.reduce
  }
  return
}

// Copies of one loop, as of an unrolled one, are the same op at the same place, apart from their bodies.
// CHECK-LABEL: func.func @copies
// CHECK-COUNT-2: scf.parallel (%{{[^,]*}}, %{{[^)]*}}) =
// CHECK-NOT: scf.parallel
// CHECK: return
func.func @copies(%v: f32) {
  %p = "field.get"() {field = @p} : () -> !field.array<i8, [8]>
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [128]>
  %one = arith.constant 1 : i8
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c128 = arith.constant 128 : index
  scf.parallel (%i) = (%c0) to (%c128) step (%c1) {
    %cell = arith.divui %i, %c16 : index
    %byte = "field.load"(%p, %cell) : (!field.array<i8, [8]>, index) -> i8
    %active = arith.cmpi eq, %byte, %one : i8
    scf.if %active {
      "field.store"(%v, %x, %i) : (f32, !field.array<f32, [128]>, index) -> ()
    }
    scf.reduce
  } loc("loop")
  scf.parallel (%i) = (%c0) to (%c128) step (%c1) {
    %cell = arith.divui %i, %c16 : index
    %byte = "field.load"(%p, %cell) : (!field.array<i8, [8]>, index) -> i8
    %active = arith.cmpi eq, %byte, %one : i8
    scf.if %active {
      "field.store"(%v, %x, %i) : (f32, !field.array<f32, [128]>, index) -> ()
    }
    scf.reduce
  } loc("loop")
  return
}

// A list's items are gone through up to its length.
// CHECK-LABEL: func.func @over_items
// CHECK: %[[D:.*]] = field.get @d :
// CHECK: %[[LENGTH:.*]] = field.load %[[D]][]
// CHECK: %[[END:.*]] = arith.index_cast %[[LENGTH]]
// CHECK: scf.parallel (%{{.*}}) = (%{{.*}}) to (%[[END]])
func.func @over_items(%v: i32) {
  %d = "field.get"() {field = @d} : () -> !field.array<i32, []>
  %l = "field.get"() {field = @l} : () -> !field.array<i32, [64]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.parallel (%i) = (%c0) to (%c64) step (%c1) {
    %length = "field.load"(%d) : (!field.array<i32, []>) -> i32
    %item = arith.index_cast %i : index to i32
    %active = arith.cmpi sgt, %length, %item : i32
    scf.if %active {
      "field.store"(%v, %l, %i) : (i32, !field.array<i32, [64]>, index) -> ()
    }
    scf.reduce
  }
  return
}

// What is done without the test keeps the loop as it is.
// CHECK-LABEL: func.func @not_all
// CHECK-NOT: memref.alloc
// CHECK: scf.parallel (%{{.*}}) = (%{{.*}}) to (%{{.*}})
func.func @not_all(%v: f32) {
  %p = "field.get"() {field = @p} : () -> !field.array<i8, [8]>
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [128]>
  %one = arith.constant 1 : i8
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c128 = arith.constant 128 : index
  scf.parallel (%i) = (%c0) to (%c128) step (%c1) {
    %cell = arith.divui %i, %c16 : index
    %byte = "field.load"(%p, %cell) : (!field.array<i8, [8]>, index) -> i8
    %active = arith.cmpi eq, %byte, %one : i8
    scf.if %active {
      "field.store"(%v, %x, %i) : (f32, !field.array<f32, [128]>, index) -> ()
    }
    "field.store"(%v, %x, %c0) : (f32, !field.array<f32, [128]>, index) -> ()
    scf.reduce
  }
  return
}

// -----

"snode.root"() ({
  "snode.pointer"() ({
    "snode.dense"() ({
      "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
    }) {axes = [0], extents = [8]} : () -> ()
  }) {axes = [0], extents = [65536], activity = @p} : () -> ()
}) {sym_name = "S0"} : () -> ()
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "p", element = i8, component_shape = []} : () -> ()
  }) {axes = [0], extents = [65536]} : () -> ()
}) {sym_name = "p.tree"} : () -> ()

// Of many cells, rows of 1024 are shared out: they are counted, get their places in the list, and are written.
// CHECK-LABEL: func.func @rows
// CHECK: %[[STARTS:.*]] = memref.alloc(
// CHECK: scf.parallel (%[[ROW:.*]]) = (%{{.*}}) to (%[[ROWS:.*]]) step
// CHECK: math.ctpop
// CHECK: memref.store %{{.*}}, %[[STARTS]][%[[ROW]]]
// CHECK: %[[TOTAL:.*]] = scf.for
// CHECK: memref.store %{{.*}}, %[[STARTS]]
// CHECK: %[[LIST:.*]] = memref.alloc(%[[TOTAL]])
// CHECK: scf.parallel (%[[ROW:.*]]) = (%{{.*}}) to (%[[ROWS]]) step
// CHECK: memref.load %[[STARTS]][%[[ROW]]]
// CHECK: memref.store %{{.*}}, %[[LIST]]
// CHECK: memref.dealloc %[[STARTS]]
// CHECK: scf.parallel (%{{.*}}, %{{.*}}) = (%{{.*}}, %{{.*}}) to (%[[TOTAL]], %{{.*}})
func.func @rows(%v: f32) {
  %p = "field.get"() {field = @p} : () -> !field.array<i8, [65536]>
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [524288]>
  %one = arith.constant 1 : i8
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c524288 = arith.constant 524288 : index
  scf.parallel (%i) = (%c0) to (%c524288) step (%c1) {
    %cell = arith.divui %i, %c8 : index
    %byte = "field.load"(%p, %cell) : (!field.array<i8, [65536]>, index) -> i8
    %active = arith.cmpi eq, %byte, %one : i8
    scf.if %active {
      "field.store"(%v, %x, %i) : (f32, !field.array<f32, [524288]>, index) -> ()
    }
    scf.reduce
  }
  return
}

// -----

"snode.root"() ({
  "snode.pointer"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
  }) {axes = [0, 1], extents = [1048576, 1048576], activity = @p} : () -> ()
}) {sym_name = "S0"} : () -> ()
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "p", element = i8, component_shape = []} : () -> ()
  }) {axes = [0, 1], extents = [1048576, 1048576]} : () -> ()
}) {sym_name = "p.tree"} : () -> ()

func.func @serial(%v: f32) {
  %p = "field.get"() {field = @p} : () -> !field.array<i8, [1048576, 1048576]>
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [1048576, 1048576]>
  %one = arith.constant 1 : i8
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c = arith.constant 1048576 : index
  scf.for %i = %c0 to %c step %c1 {
    scf.for %j = %c0 to %c step %c1 {
      // expected-error @+1 {{this loop would test 1099511627776 cells one by one}}
      %byte = "field.load"(%p, %i, %j) : (!field.array<i8, [1048576, 1048576]>, index, index) -> i8
      %active = arith.cmpi eq, %byte, %one : i8
      scf.if %active {
        "field.store"(%v, %x, %i, %j) : (f32, !field.array<f32, [1048576, 1048576]>, index, index) -> ()
      }
    }
  }
  return
}
