// RUN: mlirad-opt %s --split-input-file --mark-touched-rows | filecheck %s

// CHECK: module attributes {field.rows = {{\[\[}}@x.grad, {{\[\[\[}}array<i64: -1, 3, 1>, array<i64: -1, 3, 1>]],
// CHECK-SAME: {{\[\[}}array<i64: 0, 3, 1>, array<i64: 0, 3, 1>]]]]]}
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0, 1], extents = [8, 65536]} : () -> ()
}) {sym_name = "S0"} : () -> ()

func.func @step(%v: f32, %t: i32 {field.argument = 3}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c65536 = arith.constant 65536 : index
  %one = arith.constant 1 : i32
  %now = arith.index_cast %t : i32 to index
  %earlier = arith.subi %t, %one : i32
  %before = arith.index_cast %earlier : i32 to index
  %g = "field.get"() {field = @x.grad} : () -> !field.array<f32, [8, 65536]>
  scf.parallel (%i) = (%c0) to (%c65536) step (%c1) {
    %d = "field.load"(%g, %now, %i) : (!field.array<f32, [8, 65536]>, index, index) -> f32
    %0 = "field.atomic"(%d, %g, %before, %i) {kind = "add", field.plain} : (f32, !field.array<f32, [8, 65536]>, index, index) -> f32
    scf.reduce
  }
  return
}

// -----

// Which row is touched is known only while it runs; rows are short.

// CHECK-NOT: field.rows
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "k", element = i32, component_shape = []} : () -> ()
  }) {axes = [0, 1], extents = [8, 65536]} : () -> ()
  "snode.dense"() ({
    "snode.place"() {sym_name = "y", element = f32, component_shape = [], adjoint = @y.grad} : () -> ()
    "snode.place"() {sym_name = "y.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0, 1], extents = [65536, 8]} : () -> ()
}) {sym_name = "S0"} : () -> ()

func.func @rows_of_data(%v: f32, %t: index {field.argument = 0}, %n: index) {
  %c0 = arith.constant 0 : index
  %g = "field.get"() {field = @x.grad} : () -> !field.array<f32, [8, 65536]>
  %h = "field.get"() {field = @y.grad} : () -> !field.array<f32, [65536, 8]>
  %k = "field.get"() {field = @k} : () -> !field.array<i32, [8, 65536]>
  %row = "field.load"(%k, %c0, %t) : (!field.array<i32, [8, 65536]>, index, index) -> i32
  %at = arith.index_cast %row : i32 to index
  %0 = "field.atomic"(%v, %g, %at, %c0) {kind = "add"} : (f32, !field.array<f32, [8, 65536]>, index, index) -> f32
  %1 = "field.atomic"(%v, %g, %t, %c0) {kind = "add"} : (f32, !field.array<f32, [8, 65536]>, index, index) -> f32
  %2 = "field.atomic"(%v, %h, %t, %c0) {kind = "add"} : (f32, !field.array<f32, [65536, 8]>, index, index) -> f32
  %3 = "field.load"(%k, %n, %c0) : (!field.array<i32, [8, 65536]>, index, index) -> i32
  return
}
