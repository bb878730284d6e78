// RUN: mlirad-opt %s --mark-private-updates=threads=2 | filecheck %s
// RUN: mlirad-opt %s --mark-private-updates=threads=2 --mark-private-updates=threads=2 | filecheck %s

// CHECK-LABEL: func.func @sum_to_one_cell
// CHECK: "field.atomic"({{.*}}) {field.reduce, kind = "add"}
func.func @sum_to_one_cell(%x: !field.array<f32, [16]>, %s: !field.array<f32, []>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
    %o = "field.atomic"(%v, %s) {kind = "add"} : (f32, !field.array<f32, []>) -> f32
  }
  return
}

// CHECK-LABEL: func.func @sum_that_is_used
// CHECK: "field.atomic"({{.*}}) {kind = "add"}
func.func @sum_that_is_used(%x: !field.array<f32, [16]>, %s: !field.array<f32, []>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %one = arith.constant 1.0 : f32
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    %o = "field.atomic"(%one, %s) {kind = "add"} : (f32, !field.array<f32, []>) -> f32
    "field.store"(%o, %x, %i) : (f32, !field.array<f32, [16]>, index) -> ()
  }
  return
}

// CHECK-LABEL: func.func @own_element
// CHECK: "field.atomic"({{.*}}) {field.plain, kind = "add"}
func.func @own_element(%x: !field.array<f32, [16]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %one = arith.constant 1.0 : f32
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    %j = arith.addi %i, %c1 : index
    %o = "field.atomic"(%one, %x, %j) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
  }
  return
}

// CHECK-LABEL: func.func @own_and_next_element
// CHECK-COUNT-2: "field.atomic"({{.*}}) {kind = "add"}
func.func @own_and_next_element(%x: !field.array<f32, [16]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c15 = arith.constant 15 : index
  %one = arith.constant 1.0 : f32
  scf.parallel (%i) = (%c0) to (%c15) step (%c1) {
    %j = arith.addi %i, %c1 : index
    %o = "field.atomic"(%one, %x, %i) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    %p = "field.atomic"(%one, %x, %j) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
  }
  return
}

// CHECK-LABEL: func.func @index_from_memory
// CHECK: "field.atomic"({{.*}}) {kind = "add"}
func.func @index_from_memory(%x: !field.array<f32, [16]>, %n: !field.array<i32, [16]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %one = arith.constant 1.0 : f32
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    %k = "field.load"(%n, %i) : (!field.array<i32, [16]>, index) -> i32
    %j = arith.index_cast %k : i32 to index
    %o = "field.atomic"(%one, %x, %j) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
  }
  return
}

// CHECK-LABEL: func.func @outside_of_parallel_loops
// CHECK: "field.atomic"({{.*}}) {field.plain, kind = "add"}
func.func @outside_of_parallel_loops(%s: !field.array<f32, []>, %v: f32) {
  %o = "field.atomic"(%v, %s) {kind = "add"} : (f32, !field.array<f32, []>) -> f32
  return
}

// CHECK-LABEL: func.func @longer_axis_is_cut
// CHECK: {field.axis = 1 : i64}
func.func @longer_axis_is_cut() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  scf.parallel (%i, %j) = (%c0, %c0) to (%c2, %c16) step (%c1, %c1) {
  }
  return
}
