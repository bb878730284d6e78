// RUN: mlirad-opt %s --reuse-loads | filecheck %s
// RUN: mlirad-opt %s --reuse-loads --reuse-loads | filecheck %s

// CHECK-LABEL: func.func @least
func.func @least(%x: !field.array<f32, [8]>, %i: index, %most: f32) -> f32 {
  // CHECK: [[X:%.*]] = field.load
  %0 = field.load %x[%i] : f32
  %1 = arith.cmpf olt, %0, %most : f32
  // CHECK-NOT: field.load
  %2 = scf.if %1 -> (f32) {
    // CHECK: scf.yield [[X]]
    %3 = field.load %x[%i] : f32
    scf.yield %3 : f32
  } else {
    scf.yield %most : f32
  }
  return %2 : f32
}

// CHECK-LABEL: func.func @larger
func.func @larger(%x: !field.array<f32, [8]>, %y: !field.array<f32, [8]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    // CHECK: [[X:%.*]] = field.load
    %0 = field.load %x[%i] : f32
    %1 = arith.cmpf ogt, %0, %zero : f32
    %2 = scf.if %1 -> (f32) {
      // CHECK: scf.if
      // CHECK-NEXT: scf.yield [[X]]
      %3 = field.load %x[%i] : f32
      scf.yield %3 : f32
    } else {
      scf.yield %zero : f32
    }
    // A branch that does more keeps its load.
    scf.if %1 {
      // CHECK: scf.if
      // CHECK-NEXT: field.load
      %3 = field.load %x[%i] : f32
      %4 = arith.mulf %3, %2 : f32
      field.store %4, %y[%i]
    }
    scf.reduce
  }
  return
}

// A load that carries no derivative is not one that does.
// CHECK-LABEL: func.func @stopped
func.func @stopped(%x: !field.array<f32, [8]>, %i: index, %c: i1) -> f32 {
  %0 = field.load %x[%i] : f32
  %1 = scf.if %c -> (f32) {
    // CHECK: scf.if
    // CHECK-NEXT: field.load %{{.*}} {grad.stop}
    %2 = field.load %x[%i] {grad.stop} : f32
    scf.yield %2 : f32
  } else {
    scf.yield %0 : f32
  }
  return %1 : f32
}

// Another array argument may be the same array.
// CHECK-LABEL: func.func @written
func.func @written(%x: !field.array<f32, [8]>, %y: !field.array<f32, [8]>, %i: index, %c: i1) -> f32 {
  %0 = field.load %x[%i] : f32
  field.store %0, %y[%i]
  %1 = scf.if %c -> (f32) {
    // CHECK: scf.if
    // CHECK: field.load
    %2 = field.load %x[%i] : f32
    scf.yield %2 : f32
  } else {
    // CHECK: else
    // CHECK: field.store
    // CHECK: field.load
    field.store %0, %x[%i]
    %2 = field.load %x[%i] : f32
    scf.yield %2 : f32
  }
  return %1 : f32
}

// Fields differ by their names; a loop may write in an earlier trip.
// CHECK-LABEL: func.func @fields
func.func @fields(%i: index, %c: i1) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %x = field.get @x : !field.array<f32, [8]>
  %y = field.get @y : !field.array<f32, [8]>
  // CHECK: [[X:%.*]] = field.load
  %0 = field.load %x[%i] : f32
  field.store %0, %y[%i]
  // CHECK: scf.for
  %1 = scf.for %j = %c0 to %c4 step %c1 iter_args(%s = %0) -> (f32) {
    // CHECK: field.load
    %2 = field.load %x[%i] : f32
    scf.yield %2 : f32
  }
  %2 = scf.if %c -> (f32) {
    // CHECK: scf.if
    // CHECK-NEXT: scf.yield [[X]]
    %3 = field.load %x[%i] : f32
    scf.yield %3 : f32
  } else {
    // CHECK: else
    // CHECK-NEXT: scf.yield [[X]]
    %3 = field.load %x[%i] : f32
    scf.yield %3 : f32
  }
  %4 = arith.addf %1, %2 : f32
  return %4 : f32
}
snode.root @S {
  snode.dense [8] {
    snode.place @x : f32
    snode.place @y : f32
  }
}

// Of one block, too, if what is written in between is another array.
// CHECK-LABEL: func.func @written_beside
func.func @written_beside(%i: index) -> f32 {
  %x = field.get @x : !field.array<f32, [8]>
  %y = field.get @y : !field.array<f32, [8]>
  // CHECK: [[X:%.*]] = field.load
  %0 = field.load %x[%i] : f32
  field.store %0, %y[%i]
  // CHECK-NOT: field.load
  %1 = field.load %x[%i] : f32
  // CHECK: arith.addf [[X]], [[X]]
  %2 = arith.addf %0, %1 : f32
  // CHECK: field.store
  field.store %2, %x[%i]
  // CHECK: [[NEW:%.*]] = field.load
  %3 = field.load %x[%i] : f32
  // CHECK: return [[NEW]]
  return %3 : f32
}
