// RUN: mlirad-opt %s --lower-ordered-loops | filecheck %s
// RUN: mlirad-opt %s --lower-ordered-loops --lower-ordered-loops | filecheck %s

// What is set depends on the order: a serial loop, and a variable for mem2reg.
// CHECK-LABEL: func.func @sets
// CHECK: %[[A:.*]] = memref.alloca() : memref<f32>
// CHECK: scf.for %[[I:.*]] = %c0 to %c4
// CHECK: scf.for %[[J:.*]] = %c0 to %c8
// CHECK: field.load %arg0[%[[I]], %[[J]]]
// CHECK: memref.load %[[A]][]
// CHECK: memref.store %{{.*}}, %[[A]][]
// CHECK: %[[LAST:.*]] = memref.load %[[A]][]
// CHECK: return %[[LAST]]
func.func @sets(%x: !field.array<f32, [4, 8]>) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %a = "field.alloca"() : () -> !field.array<f32, []>
  scf.parallel (%i, %j) = (%c0, %c0) to (%c4, %c8) step (%c1, %c1) {
    %v = "field.load"(%x, %i, %j) : (!field.array<f32, [4, 8]>, index, index) -> f32
    %before = "field.load"(%a) : (!field.array<f32, []>) -> f32
    %after = arith.mulf %before, %v : f32
    "field.store"(%after, %a) : (f32, !field.array<f32, []>) -> ()
    scf.reduce
  }
  %last = "field.load"(%a) : (!field.array<f32, []>) -> f32
  return %last : f32
}

// A sum that is read on the way does, too.
// CHECK-LABEL: func.func @reads_a_sum
// CHECK-NOT: scf.parallel
// CHECK: scf.for
func.func @reads_a_sum(%x: !field.array<f32, [8]>, %y: !field.array<f32, [8]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %s = "field.alloca"() : () -> !field.array<f32, []>
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    %v = "field.load"(%x, %i) : (!field.array<f32, [8]>, index) -> f32
    %old = "field.atomic"(%v, %s) {kind = "add"} : (f32, !field.array<f32, []>) -> f32
    %sum = "field.load"(%s) : (!field.array<f32, []>) -> f32
    "field.store"(%sum, %y, %i) : (f32, !field.array<f32, [8]>, index) -> ()
    scf.reduce
  }
  return
}

// Sums that nobody reads on the way do not, nor do single iterations, nor elements that go along.
// CHECK-LABEL: func.func @any_order
// CHECK-COUNT-2: scf.parallel
// CHECK-NOT: scf.for
func.func @any_order(%x: !field.array<f32, [8]>) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %s = "field.alloca"() : () -> !field.array<f32, []>
  %y = "field.alloca"() : () -> !field.array<f32, [8]>
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    %v = "field.load"(%x, %i) : (!field.array<f32, [8]>, index) -> f32
    "field.store"(%v, %y, %i) : (f32, !field.array<f32, [8]>, index) -> ()
    %old = "field.atomic"(%v, %s) {kind = "add"} : (f32, !field.array<f32, []>) -> f32
    scf.reduce
  }
  scf.parallel (%i) = (%c0) to (%c1) step (%c1) {
    %v = "field.load"(%y, %i) : (!field.array<f32, [8]>, index) -> f32
    "field.store"(%v, %s) : (f32, !field.array<f32, []>) -> ()
    scf.reduce
  }
  %last = "field.load"(%s) : (!field.array<f32, []>) -> f32
  return %last : f32
}

// What every iteration sets before it reads it is a variable of the iteration.
// CHECK-LABEL: func.func @temporary
// CHECK-NOT: field.alloca
// CHECK: scf.parallel
// CHECK: memref.alloca() : memref<f32>
func.func @temporary(%x: !field.array<f32, [8]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %t = "field.alloca"() : () -> !field.array<f32, []>
  "field.store"(%zero, %t) : (f32, !field.array<f32, []>) -> ()
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    %v = "field.load"(%x, %i) : (!field.array<f32, [8]>, index) -> f32
    %positive = arith.cmpf ogt, %v, %zero : f32
    scf.if %positive {
      "field.store"(%v, %t) : (f32, !field.array<f32, []>) -> ()
    } else {
      "field.store"(%zero, %t) : (f32, !field.array<f32, []>) -> ()
    }
    %w = "field.load"(%t) : (!field.array<f32, []>) -> f32
    "field.store"(%w, %x, %i) : (f32, !field.array<f32, [8]>, index) -> ()
    scf.reduce
  }
  return
}
