// RUN: mlirad-opt %s --split-tangents=length=1 --canonicalize --cse | filecheck %s
// RUN: mlirad-opt %s --split-tangents --canonicalize --cse | filecheck %s --check-prefix=SHORT

snode.root @S0 {
  snode.dense [8] {
    snode.place @x : f32 duals(@x.0, @x.1, @x.2, @x.3, @x.4, @x.5, @x.6, @x.7)
    snode.place @y : f32 duals(@y.0, @y.1, @y.2, @y.3, @y.4, @y.5, @y.6, @y.7)
    snode.place @x.0 : f32
    snode.place @x.1 : f32
    snode.place @x.2 : f32
    snode.place @x.3 : f32
    snode.place @x.4 : f32
    snode.place @x.5 : f32
    snode.place @x.6 : f32
    snode.place @x.7 : f32
    snode.place @y.0 : f32
    snode.place @y.1 : f32
    snode.place @y.2 : f32
    snode.place @y.3 : f32
    snode.place @y.4 : f32
    snode.place @y.5 : f32
    snode.place @y.6 : f32
    snode.place @y.7 : f32
  }
}

// The first loop has tangents alone, of those whose number is below 4; a loop of few operations is
// one.
// CHECK-LABEL: func.func @square(
// CHECK-DAG: %[[X:.*]] = field.get @x :
// CHECK-DAG: %[[Y:.*]] = field.get @y :
// CHECK-DAG: %[[Y0:.*]] = field.get @y.0 :
// CHECK-DAG: %[[Y7:.*]] = field.get @y.7 :
// CHECK: scf.parallel
// CHECK: field.load %[[X]]
// CHECK: field.store %{{.*}}, %[[Y0]]
// CHECK-NOT: field.
// CHECK: scf.parallel
// CHECK: field.load %[[X]]
// CHECK-NOT: %[[Y0]]
// CHECK: field.store %{{.*}}, %[[Y]]
// CHECK: field.store %{{.*}}, %[[Y7]]
// CHECK-NOT: scf.parallel
// CHECK: return
// SHORT-LABEL: func.func @square(
// SHORT-COUNT-1: scf.parallel
// SHORT-NOT: scf.parallel
// SHORT: return
func.func @square() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %x = field.get @x : !field.array<f32, [8]>
  %x0 = field.get @x.0 : !field.array<f32, [8]>
  %x7 = field.get @x.7 : !field.array<f32, [8]>
  %y = field.get @y : !field.array<f32, [8]>
  %y0 = field.get @y.0 : !field.array<f32, [8]>
  %y7 = field.get @y.7 : !field.array<f32, [8]>
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    %v = field.load %x[%i] : f32
    %t0 = field.load %x0[%i] : f32
    %t7 = field.load %x7[%i] : f32
    %twice = arith.addf %v, %v : f32
    %square = arith.mulf %v, %v : f32
    %s0 = arith.mulf %twice, %t0 : f32
    %s7 = arith.mulf %twice, %t7 : f32
    field.store %square, %y[%i]
    field.store %s0, %y0[%i]
    field.store %s7, %y7[%i]
    scf.reduce
  }
  return
}

// In place: the first loop leaves the values as they are.
// CHECK-LABEL: func.func @in_place(
// CHECK-DAG: %[[X:.*]] = field.get @x :
// CHECK-DAG: %[[X0:.*]] = field.get @x.0 :
// CHECK: scf.parallel
// CHECK: field.load %[[X]]
// CHECK: field.store %{{.*}}, %[[X0]]
// CHECK-NOT: field.store
// CHECK: scf.parallel
// CHECK: field.store %{{.*}}, %[[X]]
// CHECK: return
func.func @in_place() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %x = field.get @x : !field.array<f32, [8]>
  %x0 = field.get @x.0 : !field.array<f32, [8]>
  %x7 = field.get @x.7 : !field.array<f32, [8]>
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    %v = field.load %x[%i] : f32
    %t0 = field.load %x0[%i] : f32
    %t7 = field.load %x7[%i] : f32
    %square = arith.mulf %v, %v : f32
    %s0 = arith.mulf %v, %t0 : f32
    %s7 = arith.mulf %v, %t7 : f32
    field.store %square, %x[%i]
    field.store %s0, %x0[%i]
    field.store %s7, %x7[%i]
    scf.reduce
  }
  return
}

// What an iteration loads again has to be stored: one loop.
// CHECK-LABEL: func.func @loads_again(
// CHECK-COUNT-1: scf.parallel
// CHECK-NOT: scf.parallel
// CHECK: return
func.func @loads_again() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %x = field.get @x : !field.array<f32, [8]>
  %x0 = field.get @x.0 : !field.array<f32, [8]>
  %x7 = field.get @x.7 : !field.array<f32, [8]>
  %y0 = field.get @y.0 : !field.array<f32, [8]>
  %y7 = field.get @y.7 : !field.array<f32, [8]>
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    %v = field.load %x[%i] : f32
    %square = arith.mulf %v, %v : f32
    field.store %square, %x[%i]
    %w = field.load %x[%i] : f32
    %t0 = field.load %x0[%i] : f32
    %t7 = field.load %x7[%i] : f32
    %s0 = arith.mulf %w, %t0 : f32
    %s7 = arith.mulf %w, %t7 : f32
    field.store %s0, %y0[%i]
    field.store %s7, %y7[%i]
    scf.reduce
  }
  return
}

// So has what another trip of a serial loop loads.
// CHECK-LABEL: func.func @loads_in_a_loop(
// CHECK-COUNT-1: scf.parallel
// CHECK-NOT: scf.parallel
// CHECK: return
func.func @loads_in_a_loop() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %x = field.get @x : !field.array<f32, [8]>
  %x0 = field.get @x.0 : !field.array<f32, [8]>
  %x7 = field.get @x.7 : !field.array<f32, [8]>
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    scf.for %k = %c0 to %c8 step %c1 {
      %v = field.load %x[%i] : f32
      %t0 = field.load %x0[%i] : f32
      %t7 = field.load %x7[%i] : f32
      %square = arith.mulf %v, %v : f32
      %s0 = arith.mulf %v, %t0 : f32
      %s7 = arith.mulf %v, %t7 : f32
      field.store %square, %x[%i]
      field.store %s0, %x0[%i]
      field.store %s7, %x7[%i]
    }
    scf.reduce
  }
  return
}

// And what an update returns.
// CHECK-LABEL: func.func @takes_numbers(
// CHECK-COUNT-1: scf.parallel
// CHECK-NOT: scf.parallel
// CHECK: return
func.func @takes_numbers() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %x = field.get @x : !field.array<f32, [8]>
  %x0 = field.get @x.0 : !field.array<f32, [8]>
  %x7 = field.get @x.7 : !field.array<f32, [8]>
  %y = field.get @y : !field.array<f32, [8]>
  %y0 = field.get @y.0 : !field.array<f32, [8]>
  %y7 = field.get @y.7 : !field.array<f32, [8]>
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    %v = field.load %x[%i] : f32
    %old = field.atomic add %v, %y[%c0]
    %t0 = field.load %x0[%i] : f32
    %t7 = field.load %x7[%i] : f32
    %s0 = arith.mulf %old, %t0 : f32
    %s7 = arith.mulf %old, %t7 : f32
    field.store %s0, %y0[%i]
    field.store %s7, %y7[%i]
    scf.reduce
  }
  return
}

// A serial loop would carry all tangents in both: one loop.
// CHECK-LABEL: func.func @carries(
// CHECK-COUNT-1: scf.parallel
// CHECK-NOT: scf.parallel
// CHECK: return
func.func @carries() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %x0 = field.get @x.0 : !field.array<f32, [8]>
  %x7 = field.get @x.7 : !field.array<f32, [8]>
  %y0 = field.get @y.0 : !field.array<f32, [8]>
  %y7 = field.get @y.7 : !field.array<f32, [8]>
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    %t0 = field.load %x0[%i] : f32
    %t7 = field.load %x7[%i] : f32
    %s:2 = scf.for %k = %c0 to %c8 step %c1 iter_args(%a = %t0, %b = %t7) -> (f32, f32) {
      %aa = arith.mulf %a, %a : f32
      %bb = arith.mulf %b, %b : f32
      scf.yield %aa, %bb : f32, f32
    }
    field.store %s#0, %y0[%i]
    field.store %s#1, %y7[%i]
    scf.reduce
  }
  return
}
