// RUN: mlirad-opt %s --insert-integer-guards --canonicalize --cse | filecheck %s
// RUN: mlirad-opt %s --insert-integer-guards --insert-integer-guards --canonicalize --cse | filecheck %s

// By 0 a quotient is 0; the least integer by -1 is divided by 1.
// CHECK-LABEL: func.func @quotient(
// CHECK: %[[ZERO:.*]] = arith.cmpi eq, %arg1, %c0_i32
// CHECK: %[[LEAST:.*]] = arith.cmpi eq, %arg0, %c-2147483648_i32
// CHECK: %[[ONE:.*]] = arith.cmpi eq, %arg1, %c-1_i32
// CHECK: %[[WRAPS:.*]] = arith.andi %[[LEAST]], %[[ONE]]
// CHECK: %[[BAD:.*]] = arith.ori %[[ZERO]], %[[WRAPS]]
// CHECK: %[[D:.*]] = arith.select %[[BAD]], %c1_i32, %arg1
// CHECK: %[[Q:.*]] = arith.floordivsi %arg0, %[[D]] {field.guarded} : i32
// CHECK: %[[R:.*]] = arith.select %[[ZERO]], %c0_i32, %[[Q]]
// CHECK: return %[[R]]
func.func @quotient(%x: i32, %y: i32) -> i32 {
  %q = arith.floordivsi %x, %y : i32
  return %q : i32
}

// A remainder by 1 is 0 already; unsigned, only 0 has no quotient.
// CHECK-LABEL: func.func @remainder(
// CHECK: %[[ZERO:.*]] = arith.cmpi eq, %arg1, %c0_i64
// CHECK: %[[D:.*]] = arith.select %[[ZERO]], %c1_i64, %arg1
// CHECK: %[[R:.*]] = arith.remui %arg0, %[[D]] {field.guarded}
// CHECK: return %[[R]]
func.func @remainder(%x: i64, %y: i64) -> i64 {
  %r = arith.remui %x, %y : i64
  return %r : i64
}

// CHECK-LABEL: func.func @harmless(
// CHECK-NOT: arith.select
// CHECK: return
func.func @harmless(%x: i32, %n: index) -> i32 {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %three = arith.constant 3 : i32
  %minus = arith.constant -1 : i32
  %a = arith.divsi %x, %three : i32
  %b = arith.divui %a, %minus : i32
  %r = scf.for %i = %c1 to %c8 step %c1 iter_args(%s = %b) -> i32 {
    %q = arith.divui %n, %i : index
    %v = arith.index_cast %q : index to i32
    %t = arith.addi %s, %v : i32
    scf.yield %t : i32
  }
  return %r : i32
}

// A loop that would not end has no iterations.
// CHECK-LABEL: func.func @steps(
// CHECK: %[[AHEAD:.*]] = arith.cmpi sgt, %arg1, %c0
// CHECK: %[[END:.*]] = arith.select %[[AHEAD]], %arg0, %c0
// CHECK: %[[STEP:.*]] = arith.select %[[AHEAD]], %arg1, %c1
// CHECK: scf.for %{{.*}} = %c0 to %[[END]] step %[[STEP]] {
// CHECK: } {field.guarded}
// CHECK: scf.parallel (%{{.*}}, %{{.*}}) = (%c0, %c0) to (%c4, %[[END]]) step (%c1, %[[STEP]])
// CHECK: } {field.guarded}
func.func @steps(%n: index, %step: index, %x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %v = arith.constant 1.0 : f32
  scf.for %i = %c0 to %n step %step {
    memref.store %v, %x[%i] : memref<?xf32>
  }
  scf.parallel (%i, %j) = (%c0, %c0) to (%c4, %n) step (%c1, %step) {
    memref.store %v, %x[%j] : memref<?xf32>
    scf.reduce
  }
  return
}

// CHECK-LABEL: func.func @elements(
// CHECK: arith.divsi %{{.*}}, %{{.*}} {field.guarded} : i32
// CHECK: scf.for {{.*}} {
// CHECK: } {field.guarded}
func.func @elements(%x: !field.array<f32, [8]>, %n: !field.array<i32, [8]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %one = arith.constant 1 : i32
  %seven = arith.constant 7 : i32
  scf.for %i = %c0 to %c8 step %c1 {
    %d = "field.load"(%n, %i) : (!field.array<i32, [8]>, index) -> i32
    %e = arith.addi %d, %one : i32
    %q = arith.divsi %seven, %e : i32
    %f = arith.sitofp %q : i32 to f32
    %step = arith.index_cast %e : i32 to index
    scf.for %j = %i to %c8 step %step {
      %v = "field.load"(%x, %j) : (!field.array<f32, [8]>, index) -> f32
      %w = arith.divf %v, %f : f32
      "field.store"(%w, %x, %j) : (f32, !field.array<f32, [8]>, index) -> ()
    }
  }
  return
}
