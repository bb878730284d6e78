// RUN: mlirad-opt %s --split-guarded-loops --canonicalize | filecheck %s

// Neighbours that are looked for only inside: in the middle nobody looks, and of one iteration at an end
// is left what it does.
// CHECK-LABEL: func.func @inside
// CHECK: memref.load %arg0[%c1]
// CHECK: memref.store %{{.*}}, %arg1[%c0]
// CHECK: scf.for %{{.*}} = %c1 to %c127 step %c1
// CHECK-NOT: arith.cmpi
// CHECK-NOT: scf.if
// CHECK: } {field.any_order}
// CHECK: memref.load %arg0[%c126]
// CHECK: memref.store %{{.*}}, %arg1[%c127]
func.func @inside(%x: memref<128xf32>, %y: memref<128xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c127 = arith.constant 127 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c128 step %c1 {
    %has_left = arith.cmpi sgt, %i, %c0 : index
    %left = scf.if %has_left -> (f32) {
      %before = arith.subi %i, %c1 : index
      %a = memref.load %x[%before] : memref<128xf32>
      scf.yield %a : f32
    } else {
      scf.yield %zero : f32
    }
    %has_right = arith.cmpi slt, %i, %c127 : index
    %right = scf.if %has_right -> (f32) {
      %behind = arith.addi %i, %c1 : index
      %a = memref.load %x[%behind] : memref<128xf32>
      scf.yield %a : f32
    } else {
      scf.yield %zero : f32
    }
    %sum = arith.addf %left, %right : f32
    memref.store %sum, %y[%i] : memref<128xf32>
  } {field.any_order}
  return
}

// Indices of 32 bits that stay at the border, or go around it.
// CHECK-LABEL: func.func @borders
// CHECK: memref.load %arg0[%c0]
// CHECK: memref.load %arg0[%c1]
// CHECK: scf.for %{{.*}} = %c1 to %c127 step %c1
// CHECK-NOT: arith.maxsi
// CHECK-NOT: arith.floordivsi
// CHECK: memref.load %arg0[%c126]
// CHECK: memref.load %arg0[%c0]
func.func @borders(%x: memref<128xf32>, %y: memref<128xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %size = arith.constant 128 : i32
  scf.for %i = %c0 to %c128 step %c1 {
    %n = arith.index_cast %i : index to i32
    %before = arith.subi %n, %one : i32
    %left = arith.maxsi %before, %zero : i32
    %behind = arith.addi %n, %one : i32
    %rounds = arith.floordivsi %behind, %size : i32
    %whole = arith.muli %rounds, %size : i32
    %right = arith.subi %behind, %whole : i32
    %p = arith.index_cast %left : i32 to index
    %q = arith.index_cast %right : i32 to index
    %a = memref.load %x[%p] : memref<128xf32>
    %b = memref.load %x[%q] : memref<128xf32>
    %sum = arith.addf %a, %b : f32
    memref.store %sum, %y[%i] : memref<128xf32>
  }
  return
}

// A chunk, of which the ends are not known, carries a sum; a loop in the middle is split too. Order is kept.
// CHECK-LABEL: func.func private @chunk
// CHECK-SAME: (%[[LOW:.*]]: index, %[[HIGH:.*]]: index,
// CHECK: %[[RAISED:.*]] = arith.maxsi %[[LOW]], %c1
// CHECK: %[[FIRST:.*]] = arith.minsi %[[RAISED]], %[[HIGH]]
// CHECK: %[[FAR:.*]] = arith.maxsi %[[FIRST]], %c63
// CHECK: %[[BEHIND:.*]] = arith.minsi %[[FAR]], %[[HIGH]]
// CHECK: %[[A:.*]] = scf.for %{{.*}} = %[[LOW]] to %[[FIRST]] step %c1 iter_args(%{{.*}} = %{{.*}})
// CHECK: } {field.at_end}
// CHECK: %[[B:.*]] = scf.for %{{.*}} = %[[FIRST]] to %[[BEHIND]] step %c1 iter_args(%{{.*}} = %[[A]])
// CHECK: scf.for %{{.*}} = %c1 to %c64 step
// CHECK-NOT: arith.cmpi
// CHECK: %[[C:.*]] = scf.for %{{.*}} = %[[BEHIND]] to %[[HIGH]] step %c1 iter_args(%{{.*}} = %[[B]])
// CHECK: } {field.at_end}
// CHECK: return %[[C]]
func.func private @chunk(%low: index, %high: index, %x: memref<64x64xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c63 = arith.constant 63 : index
  %c64 = arith.constant 64 : index
  %none = arith.constant 0.0 : f32
  %total = scf.for %i = %low to %high step %c1 iter_args(%rows = %none) -> (f32) {
    %row = scf.for %j = %c0 to %c64 step %c1 iter_args(%sum = %rows) -> (f32) {
      %above = arith.cmpi sge, %i, %c1 : index
      %below = arith.cmpi slt, %i, %c63 : index
      %beside = arith.cmpi sge, %j, %c1 : index
      %some = arith.andi %above, %below : i1
      %all = arith.andi %some, %beside : i1
      %more = scf.if %all -> (f32) {
        %a = memref.load %x[%i, %j] : memref<64x64xf32>
        %s = arith.addf %sum, %a : f32
        scf.yield %s : f32
      } else {
        scf.yield %sum : f32
      }
      scf.yield %more : f32
    }
    scf.yield %row : f32
  }
  return %total : f32
}

// A window that moves along is decided for all of its elements.
// CHECK-LABEL: func.func @window
// CHECK: scf.for %{{.*}} = %c0 to %c2 step
// CHECK: scf.for %{{.*}} = %c2 to %c62 step
// CHECK-NOT: arith.cmpi
// CHECK: scf.for %{{.*}} = %c62 to %c64 step
func.func @window(%x: memref<64xf32>, %y: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c5 = arith.constant 5 : index
  %c64 = arith.constant 64 : index
  %none = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c64 step %c1 {
    %total = scf.for %k = %c0 to %c5 step %c1 iter_args(%sum = %none) -> (f32) {
      %ahead = arith.addi %i, %k : index
      %p = arith.subi %ahead, %c2 : index
      %low = arith.cmpi sge, %p, %c0 : index
      %high = arith.cmpi slt, %p, %c64 : index
      %is_in = arith.andi %low, %high : i1
      %more = scf.if %is_in -> (f32) {
        %a = memref.load %x[%p] : memref<64xf32>
        %s = arith.addf %sum, %a : f32
        scf.yield %s : f32
      } else {
        scf.yield %sum : f32
      }
      scf.yield %more : f32
    }
    memref.store %total, %y[%i] : memref<64xf32>
  }
  return
}

// Left alone: conditions that alternate, few iterations, indices of 8 bits, a sum that does not fit
// into 32 bits, updates of neighbours, a condition that other numbers decide.
// CHECK-LABEL: func.func @left
// CHECK-COUNT-6: scf.for
// CHECK-NOT: scf.for
func.func @left(%x: memref<300xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c6 = arith.constant 6 : index
  %c300 = arith.constant 300 : index
  %one = arith.constant 1.0 : f32
  scf.for %i = %c0 to %c300 step %c1 {
    %rest = arith.remsi %i, %c2 : index
    %even = arith.cmpi eq, %rest, %c0 : index
    scf.if %even {
      memref.store %one, %x[%i] : memref<300xf32>
    }
  }
  scf.for %i = %c0 to %c6 step %c1 {
    %inside = arith.cmpi sgt, %i, %c0 : index
    scf.if %inside {
      memref.store %one, %x[%i] : memref<300xf32>
    }
  }
  %hundred = arith.constant 100 : i8
  scf.for %i = %c0 to %c300 step %c1 {
    %byte = arith.index_cast %i : index to i8
    %inside = arith.cmpi slt, %byte, %hundred : i8
    scf.if %inside {
      memref.store %one, %x[%i] : memref<300xf32>
    }
  }
  %large = arith.constant 2147483600 : i32
  %zero = arith.constant 0 : i32
  scf.for %i = %c0 to %c300 step %c1 {
    %word = arith.index_cast %i : index to i32
    %sum = arith.addi %word, %large : i32
    %positive = arith.cmpi sgt, %sum, %zero : i32
    scf.if %positive {
      memref.store %one, %x[%i] : memref<300xf32>
    }
  }
  scf.for %i = %c0 to %c300 step %c1 {
    %inside = arith.cmpi sgt, %i, %c0 : index
    scf.if %inside {
      %before = arith.subi %i, %c1 : index
      memref.store %one, %x[%i] : memref<300xf32>
      memref.store %one, %x[%before] : memref<300xf32>
    }
  }
  scf.for %i = %c0 to %c300 step %c1 {
    %inside = arith.cmpi sgt, %i, %n : index
    scf.if %inside {
      memref.store %one, %x[%i] : memref<300xf32>
    }
  }
  return
}
