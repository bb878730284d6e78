// RUN: mlirad-opt %s --split-guarded-loops="width=8 large=5" --canonicalize --cse | filecheck %s
// RUN: mlirad-opt %s --split-guarded-loops="width=8 large=5 fast=false" --canonicalize --cse | filecheck %s --check-prefix=EXACT

// A large loop becomes two: as many iterations of the stretch as fill vectors, and all others. The index
// goes around between 0 and 100, and between 99 and 100, where the quotient is another.
// CHECK-LABEL: func.func @around
// CHECK: scf.for %{{.*}} = %c1 to %c97 step %c1
// CHECK-NOT: arith.floordivsi
// CHECK: } {field.any_order}
// CHECK: scf.for %[[K:.*]] = %c0 to %c4 step %c1
// CHECK: %[[BEHIND:.*]] = arith.addi %[[K]], %c96
// CHECK: %[[FRONT:.*]] = arith.cmpi slt, %[[K]], %c1
// CHECK: arith.select %[[FRONT]], %[[K]], %[[BEHIND]] {field.distinct}
// CHECK-COUNT-2: arith.floordivsi
// CHECK: } {field.any_order, field.at_end}
// EXACT-LABEL: func.func @around
// EXACT: } {field.any_order, field.at_end}
// EXACT-LABEL: func.func @bounds
func.func @around(%x: memref<100xf32>, %y: memref<100xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c99 = arith.constant 99 : index
  %c100 = arith.constant 100 : index
  %c101 = arith.constant 101 : index
  scf.for %i = %c0 to %c100 step %c1 {
    %0 = arith.addi %i, %c99 : index
    %1 = arith.floordivsi %0, %c100 : index
    %2 = arith.muli %1, %c100 : index
    %before = arith.subi %0, %2 : index
    %3 = arith.addi %i, %c101 : index
    %4 = arith.floordivsi %3, %c100 : index
    %5 = arith.muli %4, %c100 : index
    %behind = arith.subi %3, %5 : index
    %a = memref.load %x[%before] : memref<100xf32>
    %b = memref.load %x[%behind] : memref<100xf32>
    %c = arith.addf %a, %b : f32
    memref.store %c, %y[%i] : memref<100xf32>
  } {field.any_order}
  return
}

// Bounds that are not known: the stretch may be empty.
// CHECK-LABEL: func.func @bounds
// CHECK: %[[FIRST:.*]] = arith.minsi
// CHECK: %[[LENGTH:.*]] = arith.maxsi
// CHECK: %[[REST:.*]] = arith.remui %[[LENGTH]], %c8
// CHECK: %[[WHOLE:.*]] = arith.subi %[[LENGTH]], %[[REST]]
// CHECK: %[[END:.*]] = arith.addi %[[FIRST]], %[[WHOLE]]
// CHECK: scf.for %{{.*}} = %[[FIRST]] to %[[END]] step %c1
// CHECK-NOT: scf.if
// CHECK: } {field.any_order}
// CHECK: scf.for
// CHECK: scf.if
// CHECK: } {field.any_order, field.at_end}
func.func @bounds(%x: memref<?xf32>, %low: index, %high: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %two = arith.constant 2.0 : f32
  scf.for %i = %low to %high step %c1 {
    %a = memref.load %x[%i] : memref<?xf32>
    %b = arith.mulf %a, %two : f32
    %has_left = arith.cmpi sgt, %i, %c0 : index
    scf.if %has_left {
      %c = arith.mulf %b, %b : f32
      memref.store %c, %x[%i] : memref<?xf32>
    }
  } {field.any_order}
  return
}

// Elements that several iterations add to: in order, unless sums are to be fast.
// CHECK-LABEL: func.func @sums
// CHECK: } {field.any_order, field.at_end}
// EXACT-LABEL: func.func @sums
// EXACT: memref.store
// EXACT: scf.for %{{.*}} = %c1 to %c100 step %c1
// EXACT-NOT: field.at_end
func.func @sums(%x: memref<100xf32>, %y: memref<100xf32>, %n: memref<100xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c100 = arith.constant 100 : index
  scf.for %i = %c0 to %c100 step %c1 {
    %0 = arith.subi %i, %c1 : index
    %before = arith.maxsi %0, %c0 : index
    %a = memref.load %x[%before] : memref<100xf32>
    %k = memref.load %n[%i] : memref<100xindex>
    %b = memref.load %y[%k] : memref<100xf32>
    %c = arith.addf %a, %b : f32
    memref.store %c, %y[%k] : memref<100xf32>
  } {field.any_order}
  return
}

// The last iteration's value is left: the order stays.
// CHECK-LABEL: func.func @last
// CHECK-NOT: field.at_end
func.func @last(%x: memref<100xf32>, %y: memref<f32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c100 = arith.constant 100 : index
  scf.for %i = %c0 to %c100 step %c1 {
    %0 = arith.subi %i, %c1 : index
    %before = arith.maxsi %0, %c0 : index
    %a = memref.load %x[%before] : memref<100xf32>
    %b = memref.load %x[%i] : memref<100xf32>
    %c = arith.addf %a, %b : f32
    memref.store %c, %y[] : memref<f32>
  } {field.any_order}
  return
}
