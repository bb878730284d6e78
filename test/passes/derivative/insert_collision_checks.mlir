// RUN: mlirad-opt %s --insert-collision-checks --canonicalize --cse --split-input-file --verify-diagnostics | filecheck %s
// RUN: mlirad-opt %s --insert-collision-checks --canonicalize --cse --split-input-file --verify-diagnostics --mlir-print-op-generic | mlirad-opt - --split-input-file | filecheck %s

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "y", element = f32, component_shape = [], adjoint = @y.grad} : () -> ()
    "snode.place"() {sym_name = "k", element = i32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "y.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// Two runs: every iteration marks what it stores to, then looks whether the mark is its own. Nothing else is left.

// CHECK-LABEL: func.func @stores(
// CHECK: %[[OWNER:.*]] = memref.alloc() : memref<16xi32>
// CHECK: scf.parallel
// CHECK-NOT: math.sin
// CHECK: field.load
// CHECK: memref.store %{{.*}}, %[[OWNER]][%
// CHECK: scf.parallel
// CHECK: memref.load %[[OWNER]][%
// CHECK: field.assert{{.*}}'y'[{}] is written here in iteration {} of a parallel loop, and written in iteration {}
// CHECK-NOT: field.store
// CHECK: memref.dealloc %[[OWNER]]
func.func @stores() {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [16]>
  %k = "field.get"() {field = @k} : () -> !field.array<i32, [16]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
    %s = math.sin %v : f32
    %j = "field.load"(%k, %i) : (!field.array<i32, [16]>, index) -> i32
    %to = arith.index_cast %j : i32 to index
    "field.store"(%s, %y, %to) : (f32, !field.array<f32, [16]>, index) -> ()
    scf.reduce
  }
  return
}

// What is read is cleared first; iterations may be many, and the array as large as the launch says.

// CHECK-LABEL: func.func @loads(
// CHECK: memref.alloc(%{{.*}}) : memref<?xi64>
// CHECK: memref.store %c0_i64
// CHECK: memref.store
// CHECK: memref.load
// CHECK: field.assert{{.*}}an array argument[{}] is read here in iteration {} of a parallel loop, and written in iteration {} at
func.func @loads(%x: !field.array<f32, [-1]> {field.needs_grad}, %n: index) {
  %k = "field.get"() {field = @k} : () -> !field.array<i32, [16]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %j = "field.load"(%k, %i) : (!field.array<i32, [16]>, index) -> i32
    %from = arith.index_cast %j : i32 to index
    %v = "field.load"(%x, %from) : (!field.array<f32, [-1]>, index) -> f32
    "field.store"(%v, %x, %i) : (f32, !field.array<f32, [-1]>, index) -> ()
    scf.reduce
  }
  return
}

// Indices that the kernel itself moves on are moved on in every run, and put back.

// CHECK-LABEL: func.func @cursors(
// CHECK: %[[K:.*]] = field.get @k : !field.array<i32, [16]>
// CHECK: memref.alloc() : memref<16xi32>
// CHECK: field.load %[[K]][
// CHECK: field.store %{{.*}}, %[[K]][
// CHECK: field.store %{{.*}}, %[[K]][
// CHECK: field.assert
// CHECK: field.store %{{.*}}, %[[K]][
func.func @cursors() attributes {grad.redone = [@k]} {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [16]>
  %k = "field.get"() {field = @k} : () -> !field.array<i32, [16]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %one = arith.constant 1 : i32
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    scf.for %t = %c0 to %c3 step %c1 {
      %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
      %j = "field.load"(%k, %i) : (!field.array<i32, [16]>, index) -> i32
      %to = arith.index_cast %j : i32 to index
      "field.store"(%v, %y, %to) : (f32, !field.array<f32, [16]>, index) -> ()
      %next = arith.addi %j, %one : i32
      "field.store"(%next, %k, %i) : (i32, !field.array<i32, [16]>, index) -> ()
    }
    scf.reduce
  }
  return
}

// -----

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "k", element = i32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()

func.func @nested(%n: index) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %k = "field.get"() {field = @k} : () -> !field.array<i32, [16]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %t = %c0 to %n step %c1 {
    // expected-error @+1 {{a parallel loop within another loop}}
    scf.parallel (%i) = (%c0) to (%n) step (%c1) {
      %j = "field.load"(%k, %i) : (!field.array<i32, [16]>, index) -> i32
      %to = arith.index_cast %j : i32 to index
      %v = "field.load"(%x, %to) : (!field.array<f32, [16]>, index) -> f32
      "field.store"(%v, %x, %i) : (f32, !field.array<f32, [16]>, index) -> ()
      scf.reduce
    }
  }
  return
}

// -----

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// Beside what is checked a clock is not read at all; one that leads there is refused by the reverse.

// CHECK-LABEL: func.func @clock(
// CHECK-NOT: field.clock
func.func @clock(%n: index, %t: !field.array<i64, [16]>) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %ticks = "field.clock"() : () -> i64
    "field.store"(%ticks, %t, %i) : (i64, !field.array<i64, [16]>, index) -> ()
    %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
    %s = math.sin %v : f32
    "field.store"(%s, %x, %i) : (f32, !field.array<f32, [16]>, index) -> ()
    scf.reduce
  }
  return
}
