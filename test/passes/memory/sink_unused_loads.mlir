// RUN: mlirad-opt %s --sink-unused-loads | filecheck %s
// RUN: mlirad-opt %s --sink-unused-loads --sink-unused-loads | filecheck %s

// What an iteration reads of elements that count as 0 is in a branch; that of neighbours in one.
// CHECK-LABEL: func.func @components
// CHECK: scf.parallel
// CHECK: %[[OLD:.*]]:2 = scf.if %arg1 -> (f32, f32)
// CHECK: scf.yield %{{.*}}, %{{.*}} : f32, f32
// CHECK: else
// CHECK: field.load
// CHECK: field.load
// CHECK: scf.yield
// CHECK-NOT: arith.select
// CHECK: arith.addf %[[OLD]]#0, %arg2
// CHECK: arith.addf %[[OLD]]#1, %arg2
func.func @components(%g: !field.array<f32, [100, 2]>, %begun: i1, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c100 = arith.constant 100 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i) = (%c0) to (%c100) step (%c1) {
    %a = "field.load"(%g, %i, %c0) : (!field.array<f32, [100, 2]>, index, index) -> f32
    %old = arith.select %begun, %zero, %a : f32
    %sum = arith.addf %old, %v : f32
    "field.store"(%sum, %g, %i, %c0) : (f32, !field.array<f32, [100, 2]>, index, index) -> ()
    %b = "field.load"(%g, %i, %c1) : (!field.array<f32, [100, 2]>, index, index) -> f32
    %old1 = arith.select %begun, %zero, %b : f32
    %sum1 = arith.addf %old1, %v : f32
    "field.store"(%sum1, %g, %i, %c1) : (f32, !field.array<f32, [100, 2]>, index, index) -> ()
    scf.reduce
  }
  return
}

// Of a short loop over neighbours all are read in front of it, so that they are one access.
// CHECK-LABEL: func.func @neighbours
// CHECK: scf.parallel
// CHECK: %[[OLD:.*]]:2 = scf.if %arg1 -> (f32, f32)
// CHECK: else
// CHECK: %[[P:.*]] = arith.addi %[[FIRST:.*]], %c0
// CHECK: field.load %arg0[%[[P]]]
// CHECK: %[[Q:.*]] = arith.addi %[[FIRST]], %c1
// CHECK: field.load %arg0[%[[Q]]]
// CHECK: scf.for %[[K:.*]] = %c0 to %c2
// CHECK-NOT: field.load
// CHECK: %[[IS:.*]] = arith.cmpi eq, %[[K]], %c0
// CHECK: arith.select %[[IS]], %[[OLD]]#0, %[[OLD]]#1
// CHECK: field.store
func.func @neighbours(%g: !field.array<f32, [100]>, %begun: i1, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c50 = arith.constant 50 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i) = (%c0) to (%c50) step (%c1) {
    %first = arith.muli %i, %c2 : index
    scf.for %k = %c0 to %c2 step %c1 {
      %p = arith.addi %first, %k : index
      %a = "field.load"(%g, %p) : (!field.array<f32, [100]>, index) -> f32
      %old = arith.select %begun, %zero, %a : f32
      %sum = arith.addf %old, %v : f32
      "field.store"(%sum, %g, %p) : (f32, !field.array<f32, [100]>, index) -> ()
    }
    scf.reduce
  }
  return
}

// Where an iteration decides, or the value is used for something else too, it is read as before.
// CHECK-LABEL: func.func @others
// CHECK-NOT: scf.if
// CHECK: return
func.func @others(%g: !field.array<f32, [100]>, %begun: i1, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c100 = arith.constant 100 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i) = (%c0) to (%c100) step (%c1) {
    %a = "field.load"(%g, %i) : (!field.array<f32, [100]>, index) -> f32
    %low = arith.cmpf olt, %a, %zero : f32
    %old = arith.select %low, %zero, %a : f32
    %b = arith.select %begun, %zero, %a : f32
    %sum = arith.addf %old, %b : f32
    "field.store"(%sum, %g, %i) : (f32, !field.array<f32, [100]>, index) -> ()
    scf.reduce
  }
  return
}
