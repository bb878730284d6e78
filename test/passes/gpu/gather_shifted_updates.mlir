// RUN: mlirad-opt %s --gather-shifted-updates --canonicalize --cse | filecheck %s
// RUN: mlirad-opt %s --gather-shifted-updates --gather-shifted-updates --canonicalize --cse | filecheck %s

// An element's thread adds up what the two iterations give that reach it: without a test for each
// where both are in the loop, else each where it is.
// CHECK-LABEL: func.func @own_and_next_element
// CHECK: scf.parallel (%[[P:.*]]) = (%c1) to (%c16)
// CHECK-NEXT: %[[IN:.*]] = arith.cmpi slt, %[[P]], %c15
// CHECK-NEXT: %[[BEFORE:.*]] = arith.subi %[[P]], %c1
// CHECK-NEXT: %[[THERE:.*]] = arith.cmpi sge, %[[BEFORE]], %c1
// CHECK-NEXT: %[[BOTH:.*]] = arith.andi %[[IN]], %[[THERE]]
// CHECK-NEXT: %[[SUM:.*]] = scf.if %[[BOTH]] -> (f32)
// CHECK-NEXT: %[[A:.*]] = field.load %arg0[%[[P]]]
// CHECK-NEXT: %[[B:.*]] = field.load %arg0[%[[BEFORE]]]
// CHECK-NEXT: arith.addf %[[A]], %[[B]]
// CHECK: scf.if %[[IN]] -> (f32)
// CHECK-NEXT: field.load %arg0[%[[P]]]
// CHECK: scf.if %[[THERE]] -> (f32)
// CHECK-NEXT: field.load %arg0[%[[BEFORE]]]
// CHECK: field.atomic add %[[SUM]], %arg1[%[[P]]]
// CHECK-NOT: scf.parallel
func.func @own_and_next_element(%x: !field.array<f32, [16]>, %g: !field.array<f32, [16]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c15 = arith.constant 15 : index
  scf.parallel (%i) = (%c1) to (%c15) step (%c1) {
    %j = arith.addi %i, %c1 : index
    %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
    %a = "field.atomic"(%v, %g, %i) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    %b = "field.atomic"(%v, %g, %j) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
  }
  return
}

// What is read is cleared behind all reads. An update of an element that is an iteration's own is made by the same thread
// where it reads no more; else it stays.
// CHECK-LABEL: func.func @cleared_behind
// CHECK: scf.parallel (%[[P:.*]]) = (%c0) to (%c16)
// CHECK: %[[BOTH:.*]]:2 = scf.if
// CHECK-NOT: field.store
// CHECK: field.atomic add %[[BOTH]]#0, %arg1[%[[P]]]
// CHECK: field.atomic add %[[BOTH]]#1, %arg2[%[[P]]]
// CHECK: scf.parallel (%[[I:.*]]) = (%c0) to (%c15)
// CHECK-NOT: field.load %arg0
// CHECK: field.store %{{.*}}, %arg0[%[[I]]]
// CHECK: %[[OTHER:.*]] = field.load %arg3[%[[I]]]
// CHECK: field.atomic add %[[OTHER]], %arg4[%[[I]]]
func.func @cleared_behind(%x: !field.array<f32, [16]>, %g: !field.array<f32, [16]>, %h: !field.array<f32, [16]>, %y: !field.array<f32, [16]>, %k: !field.array<f32, [16]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c15 = arith.constant 15 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i) = (%c0) to (%c15) step (%c1) {
    %j = arith.addi %i, %c1 : index
    %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
    "field.store"(%zero, %x, %i) : (f32, !field.array<f32, [16]>, index) -> ()
    %a = "field.atomic"(%v, %g, %i) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    %b = "field.atomic"(%v, %g, %j) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    %c = "field.atomic"(%v, %h, %i) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    %w = "field.load"(%y, %i) : (!field.array<f32, [16]>, index) -> f32
    %d = "field.atomic"(%w, %k, %i) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
  }
  return
}

// Guards hold where the iteration is; what they guard is read only there.
// CHECK-LABEL: func.func @guards
// CHECK: scf.parallel (%[[P:.*]]) = (%c0) to (%c16)
// CHECK: %[[NEXT:.*]] = arith.addi %[[P]], %c1
// CHECK-NEXT: %[[IN:.*]] = arith.cmpi slt, %[[NEXT]], %c16
// CHECK-NEXT: %[[GUARD:.*]] = arith.cmpi sgt, %[[NEXT]], %c0
// CHECK: %[[BOTH:.*]] = arith.andi %[[IN]], %[[GUARD]]
// CHECK: scf.if %{{.*}} -> (f32)
// CHECK-COUNT-2: field.load
// CHECK: scf.if %[[BOTH]] -> (f32)
// CHECK-NEXT: field.load %arg0[%[[NEXT]]]
func.func @guards(%x: !field.array<f32, [16]>, %g: !field.array<f32, [16]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    %inside = arith.cmpi sgt, %i, %c0 : index
    scf.if %inside {
      %j = arith.subi %i, %c1 : index
      %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
      %a = "field.atomic"(%v, %g, %j) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
      %b = "field.atomic"(%v, %g, %i) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    }
  }
  return
}

// Elements beyond the array are no thread's.
// CHECK-LABEL: func.func @known_at_run_time
// CHECK-DAG: %[[EXTENT:.*]] = field.dim %arg1, 0
// CHECK-DAG: %[[LOW:.*]] = arith.maxsi %arg2, %c0
// CHECK-DAG: %[[END:.*]] = arith.addi %arg3, %c1
// CHECK: %[[HIGH:.*]] = arith.minsi %[[END]], %[[EXTENT]]
// CHECK: scf.parallel (%{{.*}}) = (%[[LOW]]) to (%[[HIGH]])
func.func @known_at_run_time(%x: !field.array<f32, [-1]>, %g: !field.array<f32, [-1]>, %low: index, %high: index) {
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%low) to (%high) step (%c1) {
    %j = arith.addi %i, %c1 : index
    %v = "field.load"(%x, %i) : (!field.array<f32, [-1]>, index) -> f32
    %a = "field.atomic"(%v, %g, %i) {kind = "add"} : (f32, !field.array<f32, [-1]>, index) -> f32
    %b = "field.atomic"(%v, %g, %j) {kind = "add"} : (f32, !field.array<f32, [-1]>, index) -> f32
  }
  return
}

// CHECK-LABEL: func.func @around
// CHECK: scf.parallel (%[[P:.*]]) = (%c0) to (%c16)
// CHECK: %[[MOVED:.*]] = arith.addi %[[P]], %c15
// CHECK: %[[OVER:.*]] = arith.cmpi sge, %[[MOVED]], %c16
// CHECK: %[[LESS:.*]] = arith.addi %[[P]], %c-1
// CHECK: %[[I:.*]] = arith.select %[[OVER]], %[[LESS]], %[[MOVED]]
// CHECK: field.load %arg0[%[[P]]]
// CHECK: field.load %arg0[%[[I]]]
func.func @around(%x: !field.array<f32, [16]>, %g: !field.array<f32, [16]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    %j = arith.addi %i, %c1 : index
    %k = arith.remsi %j, %c16 : index
    %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
    %a = "field.atomic"(%v, %g, %i) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    %b = "field.atomic"(%v, %g, %k) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
  }
  return
}

// CHECK-LABEL: func.func @strides
// CHECK: scf.parallel (%[[P:.*]]) = (%c0) to (%c15)
// CHECK: %[[LEFT:.*]] = arith.remsi %[[P]], %c2
// CHECK: arith.cmpi eq, %[[LEFT]], %c0
// CHECK: %[[I:.*]] = arith.divsi %[[P]], %c2
// CHECK: field.load %arg0[%[[I]]]
func.func @strides(%x: !field.array<f32, [8]>, %g: !field.array<f32, [17]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c7 = arith.constant 7 : index
  scf.parallel (%i) = (%c0) to (%c7) step (%c1) {
    %j = arith.muli %i, %c2 : index
    %k = arith.addi %j, %c2 : index
    %v = "field.load"(%x, %i) : (!field.array<f32, [8]>, index) -> f32
    %a = "field.atomic"(%v, %g, %j) {kind = "add"} : (f32, !field.array<f32, [17]>, index) -> f32
    %b = "field.atomic"(%v, %g, %k) {kind = "add"} : (f32, !field.array<f32, [17]>, index) -> f32
  }
  return
}

// The loop that shifts stands in front of what the iteration is computed by.
// CHECK-LABEL: func.func @inner_loop
// CHECK: scf.parallel (%[[P:.*]]) = (%c1) to (%c16)
// CHECK: %[[TOTAL:.*]] = scf.for %[[K:.*]] = %c0 to %c3 step %c1 iter_args(%[[SUM:.*]] = %{{.*}}) -> (f32)
// CHECK: %[[I:.*]] = arith.subi %[[P]], %[[K]]
// CHECK: field.load %arg0[%[[I]]]
// CHECK: field.atomic add %[[TOTAL]], %arg1[%[[P]]]
func.func @inner_loop(%x: !field.array<f32, [16]>, %g: !field.array<f32, [16]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c14 = arith.constant 14 : index
  scf.parallel (%i) = (%c1) to (%c14) step (%c1) {
    %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
    scf.for %k = %c0 to %c3 step %c1 {
      %j = arith.addi %i, %k : index
      %a = "field.atomic"(%v, %g, %j) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    }
  }
  return
}

// The loops change places: a thread for each j goes through all i.
// CHECK-LABEL: func.func @pairs
// CHECK: scf.parallel (%[[J:.*]]) = (%c0) to (%c16)
// CHECK: %[[TOTAL:.*]] = scf.for %[[I:.*]] = %c0 to %c16
// CHECK: field.load %arg0[%[[I]]]
// CHECK: field.load %arg0[%[[J]]]
// CHECK: field.atomic add %[[TOTAL]], %arg1[%[[J]]]
func.func @pairs(%x: !field.array<f32, [16]>, %g: !field.array<f32, [16]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    %u = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
    scf.for %j = %c0 to %c16 step %c1 {
      %v = "field.load"(%x, %j) : (!field.array<f32, [16]>, index) -> f32
      %w = arith.mulf %u, %v : f32
      %a = "field.atomic"(%w, %g, %j) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    }
  }
  return
}

// Two arrays of one shape: one loop, in which an iteration that reaches both is computed once.
// CHECK-LABEL: func.func @two_arrays
// CHECK-COUNT-1: scf.parallel
// CHECK: scf.if %{{.*}} -> (f32, f32)
// CHECK: scf.if %{{.*}} -> (f32, f32)
// CHECK: field.atomic add %{{.*}}, %arg1[%[[P:.*]]]
// CHECK: field.atomic add %{{.*}}, %arg2[%[[P]]]
// CHECK-NOT: scf.parallel
func.func @two_arrays(%x: !field.array<f32, [16]>, %g: !field.array<f32, [16]>, %h: !field.array<f32, [16]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c15 = arith.constant 15 : index
  scf.parallel (%i) = (%c1) to (%c15) step (%c1) {
    %j = arith.addi %i, %c1 : index
    %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
    %w = arith.mulf %v, %v : f32
    %a = "field.atomic"(%v, %g, %i) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    %b = "field.atomic"(%v, %g, %j) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    %c = "field.atomic"(%w, %h, %i) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    %d = "field.atomic"(%w, %h, %j) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
  }
  return
}

// Few elements: 8 or more threads for each, which share out the iterations.
// CHECK-LABEL: func.func @few_elements
// CHECK: scf.parallel (%[[J:.*]], %[[SHARE:.*]]) = (%c0, %c0) to (%c4, %c512) step (%c1, %c1)
// CHECK: %[[TOTAL:.*]] = scf.for %[[I:.*]] = %[[SHARE]] to %c4096 step %c512
// CHECK: field.load %arg1[%[[I]]]
// CHECK: field.atomic add %[[TOTAL]], %arg0[%[[J]]]
func.func @few_elements(%g: !field.array<f32, [4]>, %x: !field.array<f32, [4096]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c4096 = arith.constant 4096 : index
  scf.parallel (%i) = (%c0) to (%c4096) step (%c1) {
    %v = "field.load"(%x, %i) : (!field.array<f32, [4096]>, index) -> f32
    scf.for %j = %c0 to %c4 step %c1 {
      %c = "field.atomic"(%v, %g, %j) {kind = "add"} : (f32, !field.array<f32, [4]>, index) -> f32
    }
  }
  return
}

// What is dear is computed once for each iteration, and kept.
// CHECK-LABEL: func.func @dear
// CHECK: %[[KEPT:.*]] = field.get @"$launch.0" : !field.array<f32, [15]>
// CHECK: scf.parallel (%[[I:.*]]) = (%c0) to (%c15)
// CHECK: math.sin
// CHECK: field.store %{{.*}}, %[[KEPT]][%[[I]]]
// CHECK: scf.parallel (%[[P:.*]]) = (%c0) to (%c16)
// CHECK-NOT: math.sin
// CHECK: field.load %[[KEPT]][%[[P]]]
// CHECK-NOT: scf.parallel
func.func @dear(%g: !field.array<f32, [16]>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c15 = arith.constant 15 : index
  %c100 = arith.constant 100 : index
  scf.parallel (%i) = (%c0) to (%c15) step (%c1) {
    %j = arith.addi %i, %c1 : index
    %w = scf.for %k = %c0 to %c100 step %c1 iter_args(%s = %v) -> (f32) {
      %t = math.sin %s : f32
      scf.yield %t : f32
    }
    %a = "field.atomic"(%w, %g, %i) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    %b = "field.atomic"(%w, %g, %j) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
  }
  return
}

// Of an extent that the launch tells the host chooses how many threads share the iterations of an element; what is dear is kept on
// a stack as large as an array that the loop goes through.
// CHECK-LABEL: func.func @open(
// CHECK-SAME: %[[N:.*]]: index
// CHECK: %[[SIZE:.*]] = arith.muli %[[ROWS:.*]], %c4{{.*}}
// CHECK: %[[KEPT:.*]] = grad.alloc %[[SIZE]] : !grad.stack<f32>
// CHECK: scf.parallel (%[[I:.*]], %[[J:.*]]) = (%c0, %c0) to (%[[N]], %c4)
// CHECK: math.tanh
// CHECK: %[[ROW:.*]] = arith.muli %[[I]], %c4
// CHECK: %[[AT:.*]] = arith.addi %[[ROW]], %[[J]]
// CHECK: grad.push %{{.*}}, %[[KEPT]][%[[AT]]]
// CHECK: %[[EIGHTHS:.*]] = arith.ceildivsi %[[ROWS]], %c8
// CHECK: %[[FEWER:.*]] = arith.minsi %[[EIGHTHS]], %c32768
// CHECK: %[[SHARES:.*]] = arith.maxsi %[[FEWER]], %c1
// CHECK: scf.parallel (%[[S:.*]], %{{.*}}, %{{.*}}) = (%c0, %c0, %c0) to (%[[SHARES]], %c4, %c2)
// CHECK: scf.for %{{.*}} = %[[S]] to %[[N]] step %[[SHARES]]
// CHECK: grad.pop %[[KEPT]]
// CHECK: field.atomic add
// CHECK-NOT: scf.parallel
// CHECK: return
func.func @open(%n: index, %y: !field.array<f32, [-1, 4]>, %x: !field.array<f32, [-1, 2]>, %g: !field.array<f32, [4, 2]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  scf.parallel (%r, %h) = (%c0, %c0) to (%n, %c4) step (%c1, %c1) {
    %v = "field.load"(%y, %r, %h) : (!field.array<f32, [-1, 4]>, index, index) -> f32
    %t = math.tanh %v : f32
    %u = math.exp %t : f32
    %w = math.sin %u : f32
    scf.for %k = %c0 to %c2 step %c1 {
      %a = "field.load"(%x, %r, %k) : (!field.array<f32, [-1, 2]>, index, index) -> f32
      %b = arith.mulf %w, %a : f32
      %o = "field.atomic"(%b, %g, %h, %k) {kind = "add"} : (f32, !field.array<f32, [4, 2]>, index, index) -> f32
    }
    scf.reduce
  }
  return
}
