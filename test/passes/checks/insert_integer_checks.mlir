// RUN: mlirad-opt %s --insert-integer-guards --insert-integer-checks --canonicalize --cse | filecheck %s
// RUN: mlirad-opt %s --insert-integer-guards --insert-integer-checks --insert-integer-checks --canonicalize --cse | filecheck %s

// CHECK-LABEL: func.func @quotient(
// CHECK: %[[ZERO:.*]] = arith.cmpi eq, %arg1, %c0_i64
// CHECK: %[[D:.*]] = arith.select %[[ZERO]], %c1_i64, %arg1
// CHECK: %[[NONZERO:.*]] = arith.{{.*}} %{{.*}}, %{{.*}}
// CHECK: field.assert %[[NONZERO]], "(kernel=quotient) an integer division without a value: {} by {}", %arg0, %arg1
// CHECK: arith.divui %arg0, %[[D]] : i64
func.func @quotient(%x: i64, %y: i64) -> i64 {
  %q = arith.divui %x, %y : i64
  return %q : i64
}

// CHECK-LABEL: func.func @steps(
// CHECK: %[[AHEAD:.*]] = arith.cmpi sgt, %arg1, %c0
// CHECK: field.assert %[[AHEAD]], "(kernel=steps) a loop with steps of {}, expected at least 1", %arg1
// CHECK: scf.for
func.func @steps(%n: index, %step: index, %x: !field.array<f32, [-1]>) {
  %c0 = arith.constant 0 : index
  %v = arith.constant 1.0 : f32
  scf.for %i = %c0 to %n step %step {
    "field.store"(%v, %x, %i) : (f32, !field.array<f32, [-1]>, index) -> ()
  }
  return
}

// CHECK-LABEL: func.func @elements(
// CHECK: field.assert
// CHECK: arith.divsi
// CHECK: field.assert
// CHECK: scf.for
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
