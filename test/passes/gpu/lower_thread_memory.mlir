// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --lower-thread-memory=megabytes=1 --canonicalize | filecheck %s
// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --lower-thread-memory=megabytes=1 --canonicalize --lower-thread-memory=megabytes=1 | filecheck %s

// Slot k of thread t lies at k * threads + t. As many threads as have room: 1 MiB / (1000 * 4 bytes), in blocks of 128.
// CHECK-LABEL: func.func @history(
// CHECK: %[[ALL:.*]] = memref.alloc() : memref<1000x256xf32>
// CHECK: scf.parallel (%[[T:.*]]) = (%{{.*}}) to (%[[MANY:.*]]) step
// CHECK: scf.for %[[I:.*]] = %[[T]] to %{{.*}} step %[[MANY]]
// CHECK: memref.store %{{.*}}, %[[ALL]][%[[I]], %[[T]]]
// CHECK-NEXT: memref.load %[[ALL]][%{{.*}}, %[[T]]]
// CHECK: }
// CHECK: memref.dealloc %[[ALL]]
func.func @history(%v: f32, %x: !field.array<f32, [1000]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %c1000 = arith.constant 1000 : index
  scf.parallel (%i) = (%c0) to (%c1000) step (%c1) {
    %stack = "grad.alloc"(%c1000) : (index) -> !grad.stack<f32>
    "grad.push"(%v, %stack, %i) : (f32, !grad.stack<f32>, index) -> ()
    %w = "grad.pop"(%stack, %c7) : (!grad.stack<f32>, index) -> f32
    "field.store"(%w, %x, %i) : (f32, !field.array<f32, [1000]>, index) -> ()
    "grad.free"(%stack) : (!grad.stack<f32>) -> ()
    scf.reduce
  }
  return
}

// -----

// A launch that is smaller has as many threads as iterations, and none of them strides.
// CHECK-LABEL: func.func @small(
// CHECK: memref.alloc() : memref<1000x10xf32>
// CHECK: scf.parallel
// CHECK-NOT: scf.for
// CHECK: return
func.func @small(%v: f32, %x: !field.array<f32, [10]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %c1000 = arith.constant 1000 : index
  scf.parallel (%i) = (%c0) to (%c10) step (%c1) {
    %stack = "grad.alloc"(%c1000) : (index) -> !grad.stack<f32>
    "grad.push"(%v, %stack, %i) : (f32, !grad.stack<f32>, index) -> ()
    %w = "grad.pop"(%stack, %c1) : (!grad.stack<f32>, index) -> f32
    "field.store"(%w, %x, %i) : (f32, !field.array<f32, [10]>, index) -> ()
    scf.reduce
  }
  return
}

// -----

// Up to 128 bytes are a thread's own, and zero where they are a local array.
// CHECK-LABEL: func.func @own(
// CHECK-NOT: memref.alloc(
// CHECK: scf.parallel
// CHECK-DAG: memref.alloca() : memref<32xf32>
// CHECK-DAG: %[[LOCAL:.*]] = memref.alloca() : memref<2x3xf64>
// CHECK: scf.for
// CHECK: scf.for
// CHECK: memref.store %{{.*}}, %[[LOCAL]]
// CHECK: %[[OLD:.*]] = memref.load %[[LOCAL]]
// CHECK: %[[NEW:.*]] = arith.addf %[[OLD]]
// CHECK: memref.store %[[NEW]], %[[LOCAL]]
func.func @own(%v: f32, %w: f64, %x: !field.array<f32, [10]>, %y: !field.array<f64, [10]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %c32 = arith.constant 32 : index
  scf.parallel (%i) = (%c0) to (%c10) step (%c1) {
    %stack = "grad.alloc"(%c32) : (index) -> !grad.stack<f32>
    "grad.push"(%v, %stack, %i) : (f32, !grad.stack<f32>, index) -> ()
    %local = "field.alloca"() : () -> !field.array<f64, [2, 3]>
    %old = "field.atomic"(%w, %local, %c0, %c1) {kind = "add"} : (f64, !field.array<f64, [2, 3]>, index, index) -> f64
    %popped = "grad.pop"(%stack, %c1) : (!grad.stack<f32>, index) -> f32
    "field.store"(%popped, %x, %i) : (f32, !field.array<f32, [10]>, index) -> ()
    "field.store"(%old, %y, %i) : (f64, !field.array<f64, [10]>, index) -> ()
    scf.reduce
  }
  return
}

// -----

// A larger local array is a column like a history.
// CHECK-LABEL: func.func @array(
// CHECK: %[[ALL:.*]] = memref.alloc() : memref<8x8x10xf32>
// CHECK: scf.parallel (%[[T:.*]]) =
// CHECK: memref.store %{{.*}}, %[[ALL]][%{{.*}}, %{{.*}}, %[[T]]]
// CHECK: memref.load %[[ALL]][%[[T]], %{{.*}}, %[[T]]]
func.func @array(%x: !field.array<f32, [10]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  scf.parallel (%i) = (%c0) to (%c10) step (%c1) {
    %local = "field.alloca"() : () -> !field.array<f32, [8, 8]>
    %v = "field.load"(%local, %i, %c1) : (!field.array<f32, [8, 8]>, index, index) -> f32
    "field.store"(%v, %x, %i) : (f32, !field.array<f32, [10]>, index) -> ()
    scf.reduce
  }
  return
}

// -----

// Serial code has one column.
// CHECK-LABEL: func.func @serial(
// CHECK: memref.alloc(%{{.*}}) : memref<?xf32>
// CHECK: memref.store
// CHECK: memref.dealloc
func.func @serial(%n: index, %v: f32, %x: !field.array<f32, []>) {
  %c0 = arith.constant 0 : index
  %stack = "grad.alloc"(%n) : (index) -> !grad.stack<f32>
  "grad.push"(%v, %stack, %c0) : (f32, !grad.stack<f32>, index) -> ()
  %w = "grad.pop"(%stack, %c0) : (!grad.stack<f32>, index) -> f32
  "field.store"(%w, %x) : (f32, !field.array<f32, []>) -> ()
  "grad.free"(%stack) : (!grad.stack<f32>) -> ()
  return
}

// -----

func.func @unsized() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  scf.parallel (%i) = (%c0) to (%c10) step (%c1) {
    // expected-error @+1 {{a stack of unknown size: run insert-size-counts first}}
    %stack = "grad.alloc"(%i) : (index) -> !grad.stack<f32>
    scf.reduce
  }
  return
}

// -----

func.func @lost(%stack: !grad.stack<f32>, %v: f32) {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{a stack that no 'grad.alloc' before it makes}}
  "grad.push"(%v, %stack, %c0) : (f32, !grad.stack<f32>, index) -> ()
  return
}
