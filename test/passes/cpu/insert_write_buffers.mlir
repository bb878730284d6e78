// RUN: mlirad-opt %s --insert-write-buffers="least=65536 width=32" --canonicalize --cse | filecheck %s
// RUN: mlirad-opt %s --insert-write-buffers="least=65536 width=32" --insert-write-buffers="least=65536 width=32" --canonicalize --cse | filecheck %s
// RUN: mlirad-opt %s --insert-write-buffers --canonicalize --cse | filecheck %s --check-prefix=SMALL
// RUN: mlirad-opt %s --insert-write-buffers="least=65536 width=24" --canonicalize --cse | filecheck %s --check-prefix=ROUNDED

// Blocks of iterations fill a buffer, of which whole vectors go past the caches.
// CHECK-LABEL: func.func @scaled
// CHECK: %[[B:.*]] = memref.alloca() {alignment = 64 : i64, field.write_buffer} : memref<1024xf32>
// CHECK: %[[START:.*]] = arith.subi %arg2, %{{.*}} : index
// CHECK: scf.for %[[BLOCK:.*]] = %[[START]] to %arg3 step %c1024
// CHECK: %[[LOW:.*]] = arith.maxsi %[[BLOCK]], %arg2
// CHECK: %[[HIGH:.*]] = arith.minsi %{{.*}}, %arg3
// CHECK: scf.for %[[I:.*]] = %[[LOW]] to %[[HIGH]] step %c1
// CHECK: %[[V:.*]] = arith.addf
// CHECK: %[[AT:.*]] = arith.subi %[[I]], %[[BLOCK]]
// CHECK: memref.store %[[V]], %[[B]][%[[AT]]]
// CHECK: field.any_order
// CHECK: scf.for
// CHECK: scf.for {{.*}} step %c8
// CHECK: %[[VECTOR:.*]] = vector.load %[[B]]
// CHECK: llvm.store %[[VECTOR]], %{{.*}} {alignment = 32 : i64, nontemporal} : vector<8xf32>, !llvm.ptr
// CHECK: scf.for
// CHECK: llvm.fence seq_cst
// CHECK-NEXT: return
// ROUNDED-LABEL: func.func @scaled
// ROUNDED: llvm.store %{{.*}} {alignment = 16 : i64, nontemporal} : vector<4xf32>, !llvm.ptr
// SMALL-LABEL: func.func @scaled
// SMALL-NOT: alloca
// SMALL: return
func.func @scaled(%x: memref<20000xf32>, %y: memref<20000xf32>, %low: index, %high: index) {
  %c1 = arith.constant 1 : index
  scf.for %i = %low to %high step %c1 {
    %v = memref.load %x[%i] : memref<20000xf32>
    %w = arith.addf %v, %v : f32
    memref.store %w, %y[%i] : memref<20000xf32>
  } {field.any_order}
  return
}

// All components of a vector, in rows of a matrix: together, in a buffer of fewer iterations. What
// the loop carries goes through the blocks.
// CHECK-LABEL: func.func @vectors
// CHECK: memref.alloca() {{.*}} : memref<1024xf64>
// CHECK: scf.for
// CHECK: scf.for {{.*}} step %c512 iter_args
// CHECK: scf.for {{.*}} iter_args
// CHECK: memref.store
// CHECK: memref.store
// CHECK-NOT: memref.store
// CHECK: vector<4xf64>
func.func @vectors(%x: memref<600xf64>, %y: memref<100x600x2xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c100 = arith.constant 100 : index
  %c600 = arith.constant 600 : index
  %zero = arith.constant 0.0 : f64
  %all = scf.for %i = %c0 to %c100 step %c1 iter_args(%t = %zero) -> (f64) {
    %sum = scf.for %j = %c0 to %c600 step %c1 iter_args(%s = %t) -> (f64) {
      %v = memref.load %x[%j] : memref<600xf64>
      memref.store %v, %y[%i, %j, %c1] : memref<100x600x2xf64>
      memref.store %s, %y[%i, %j, %c0] : memref<100x600x2xf64>
      %next = arith.addf %s, %v : f64
      scf.yield %next : f64
    } {field.any_order}
    scf.yield %sum : f64
  } {field.any_order}
  return %all : f64
}

// Sums that begin at 0 read nothing, and go through a buffer; others stay as they are.
// CHECK-LABEL: func.func @sums
// CHECK: scf.if %arg2
// CHECK-NOT: memref.load %arg1
// CHECK: nontemporal
// CHECK: } else {
// CHECK: memref.load %arg1
// CHECK: memref.store %{{.*}}, %arg1
// CHECK-NOT: nontemporal
func.func @sums(%x: memref<20000xf32>, %y: memref<20000xf32>, %begins: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 20000 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<20000xf32>
    %old = memref.load %y[%i] : memref<20000xf32>
    %s = arith.select %begins, %zero, %old : f32
    %w = arith.addf %s, %v : f32
    memref.store %w, %y[%i] : memref<20000xf32>
  } {field.any_order}
  return
}

// CHECK-LABEL: func.func @sums_of_all
// CHECK-NOT: alloca
func.func @sums_of_all(%x: memref<20000xf32>, %y: memref<20000xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 20000 : index
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<20000xf32>
    %old = memref.load %y[%i] : memref<20000xf32>
    %w = arith.addf %old, %v : f32
    memref.store %w, %y[%i] : memref<20000xf32>
  } {field.any_order}
  return
}

// One step of many is no large array.
// CHECK-LABEL: func.func @row
// CHECK-NOT: alloca
func.func @row(%x: memref<300xf32>, %y: memref<100x300xf32>, %t: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 300 : index
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<300xf32>
    memref.store %v, %y[%t, %i] : memref<100x300xf32>
  } {field.any_order}
  return
}

// Nor is what some iterations do not write, or only one component of each.
// CHECK-LABEL: func.func @parts
// CHECK-NOT: alloca
func.func @parts(%x: memref<20000xf32>, %y: memref<20000xf32>, %z: memref<20000x2xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 20000 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<20000xf32>
    %positive = arith.cmpf ogt, %v, %zero : f32
    scf.if %positive {
      memref.store %v, %y[%i] : memref<20000xf32>
    }
    memref.store %v, %z[%i, %c1] : memref<20000x2xf32>
  } {field.any_order}
  return
}

// Two memrefs may be of one pointer; and a loop in order may read what it wrote.
// CHECK-LABEL: func.func @unknown
// CHECK-NOT: alloca
func.func @unknown(%p: !llvm.ptr, %q: memref<20000xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 20000 : index
  %x = builtin.unrealized_conversion_cast %p : !llvm.ptr to memref<20001xf32>
  %y = builtin.unrealized_conversion_cast %p : !llvm.ptr to memref<20000xf32>
  scf.for %i = %c0 to %n step %c1 {
    %next = arith.addi %i, %c1 : index
    %v = memref.load %x[%next] : memref<20001xf32>
    memref.store %v, %y[%i] : memref<20000xf32>
  } {field.any_order}
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<20001xf32>
    memref.store %v, %q[%i] : memref<20000xf32>
  }
  return
}

// LLVM and libc write one number everywhere without reading.
// CHECK-LABEL: func.func @fill
// CHECK-NOT: alloca
func.func @fill(%y: memref<20000xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 20000 : index
  scf.for %i = %c0 to %n step %c1 {
    memref.store %v, %y[%i] : memref<20000xf32>
  } {field.any_order}
  return
}

// Of loops in one another, the inner one; not where an outer one is to run in lanes.
// CHECK-LABEL: func.func @nest
// CHECK: memref.alloca
// CHECK-NOT: memref.alloca
// CHECK: scf.for
// CHECK: scf.for
// CHECK: memref.store %{{.*}}, %alloca
// CHECK: nontemporal
// CHECK: memref.store %{{.*}}, %arg1
func.func @nest(%x: memref<20000xf32>, %y: memref<20000xf32>, %z: memref<20000x300xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 20000 : index
  %m = arith.constant 300 : index
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<20000xf32>
    scf.for %j = %c0 to %m step %c1 {
      %u = memref.load %x[%j] : memref<20000xf32>
      %w = arith.addf %u, %v : f32
      memref.store %w, %z[%i, %j] : memref<20000x300xf32>
    } {field.any_order}
    memref.store %v, %y[%i] : memref<20000xf32>
  } {field.any_order}
  return
}

// CHECK-LABEL: func.func @in_lanes
// CHECK-NOT: alloca
func.func @in_lanes(%x: memref<300xf32>, %z: memref<20000x300xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 20000 : index
  %m = arith.constant 300 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %m step %c1 {
      %u = memref.load %x[%j] : memref<300xf32>
      memref.store %u, %z[%i, %j] : memref<20000x300xf32>
    } {field.any_order}
  } {field.any_order, field.axis_choice = {in_lanes, name = "i"}}
  return
}
