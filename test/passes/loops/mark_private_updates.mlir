// RUN: mlirad-opt %s --mark-private-updates=threads=2 | filecheck %s
// RUN: mlirad-opt %s --mark-private-updates=threads=2 --mark-private-updates=threads=2 | filecheck %s

// CHECK-LABEL: func.func @sum_to_one_cell
// CHECK: field.atomic add {{.*}} {field.reduce = 0 : i64}
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
// CHECK: field.atomic add {{.*}}
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
// CHECK: field.atomic add {{.*}} {field.plain}
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
// CHECK-COUNT-2: field.atomic add {{.*}}
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
// CHECK: field.atomic add {{.*}}
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
// CHECK: field.atomic add {{.*}} {field.plain}
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

// One component of an element is its iteration's own, the other is not.
// CHECK-LABEL: func.func @own_and_shared_component
// CHECK: field.atomic add {{.*}} {field.plain}
// CHECK-NEXT: field.atomic add {{.*}}
// CHECK-NEXT: field.atomic add {{.*}}
func.func @own_and_shared_component(%x: !field.array<f32, [16, 2]>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c15 = arith.constant 15 : index
  scf.parallel (%i) = (%c0) to (%c15) step (%c1) {
    %j = arith.addi %i, %c1 : index
    %o = "field.atomic"(%v, %x, %i, %c0) {kind = "add"} : (f32, !field.array<f32, [16, 2]>, index, index) -> f32
    %p = "field.atomic"(%v, %x, %i, %c1) {kind = "add"} : (f32, !field.array<f32, [16, 2]>, index, index) -> f32
    %q = "field.atomic"(%v, %x, %j, %c1) {kind = "add"} : (f32, !field.array<f32, [16, 2]>, index, index) -> f32
  }
  return
}

// CHECK-LABEL: func.func @even_and_odd
// CHECK: field.atomic add {{.*}} {field.plain}
// CHECK-NEXT: field.atomic add {{.*}} {field.plain}
func.func @even_and_odd(%x: !field.array<f32, [16]>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    %j = arith.muli %i, %c2 : index
    %k = arith.addi %j, %c1 : index
    %o = "field.atomic"(%v, %x, %j) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    %p = "field.atomic"(%v, %x, %k) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
  }
  return
}

// CHECK-LABEL: func.func @even_and_next_even
// CHECK: field.atomic add {{.*}}
// CHECK-NEXT: field.atomic add {{.*}}
func.func @even_and_next_even(%x: !field.array<f32, [16]>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c7 = arith.constant 7 : index
  scf.parallel (%i) = (%c0) to (%c7) step (%c1) {
    %j = arith.muli %i, %c2 : index
    %k = arith.addi %j, %c2 : index
    %o = "field.atomic"(%v, %x, %j) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    %p = "field.atomic"(%v, %x, %k) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
  }
  return
}

// CHECK-LABEL: func.func @once_around
// CHECK: field.atomic add {{.*}} {field.plain}
func.func @once_around(%x: !field.array<f32, [16]>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    %j = arith.addi %i, %c1 : index
    %k = arith.floordivsi %j, %c16 : index
    %l = arith.muli %k, %c16 : index
    %m = arith.subi %j, %l : index
    %o = "field.atomic"(%v, %x, %m) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
  }
  return
}

// CHECK-LABEL: func.func @twice_around
// CHECK: field.atomic add {{.*}}
func.func @twice_around(%x: !field.array<f32, [16]>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    %m = arith.remsi %i, %c8 : index
    %o = "field.atomic"(%v, %x, %m) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
  }
  return
}

// CHECK-LABEL: func.func @own_buffer
// CHECK: field.atomic add {{.*}} {field.plain}
func.func @own_buffer(%n: !field.array<i32, [16]>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    %a = "field.alloca"() : () -> !field.array<f32, [4]>
    %k = "field.load"(%n, %i) : (!field.array<i32, [16]>, index) -> i32
    %j = arith.index_cast %k : i32 to index
    %o = "field.atomic"(%v, %a, %j) {kind = "add"} : (f32, !field.array<f32, [4]>, index) -> f32
  }
  return
}

// Cells of one array that never are the same are sums of their own, of a kind each; an element that may be one of them is not.
// CHECK-LABEL: func.func @cells_of_one_array
// CHECK: field.atomic add {{.*}} {field.reduce = 0 : i64}
// CHECK: field.atomic max {{.*}} {field.reduce = 1 : i64}
// CHECK: field.atomic add {{.*}} {field.reduce = 0 : i64}
// CHECK: field.atomic add {{.*}}
// CHECK: field.atomic add {{.*}}
func.func @cells_of_one_array(%s: !field.array<f32, [4]>, %t: !field.array<f32, [4]>, %k: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %one = arith.constant 1.0 : f32
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    %o = "field.atomic"(%one, %s, %c0) {kind = "add"} : (f32, !field.array<f32, [4]>, index) -> f32
    %p = "field.atomic"(%one, %s, %c1) {kind = "max"} : (f32, !field.array<f32, [4]>, index) -> f32
    %q = "field.atomic"(%one, %s, %c0) {kind = "add"} : (f32, !field.array<f32, [4]>, index) -> f32
    %r = "field.atomic"(%one, %t, %c0) {kind = "add"} : (f32, !field.array<f32, [4]>, index) -> f32
    %u = "field.atomic"(%one, %t, %k) {kind = "add"} : (f32, !field.array<f32, [4]>, index) -> f32
  }
  return
}
