// RUN: mlirad-opt %s --split-serial-code | filecheck %s
// RUN: mlirad-opt %s --split-serial-code --split-serial-code | filecheck %s

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()

"snode.root"() ({
  "snode.place"() {sym_name = "$begun.x", element = i8, component_shape = [], field.begun = @x} : () -> ()
}) {sym_name = "$begun.x"} : () -> ()

// The cells that launches share, and the result.
// CHECK: snode.place @"$launch.0" {field.scratch = 4 : i64} : f32
// CHECK: snode.place @"$results.0" {field.result = 0 : i64} : f32

// A cell that a loop adds to is a field, cleared by one thread, read by one thread.
// CHECK-LABEL: func.func @sum()
// CHECK: %[[CELL:.*]] = field.get @"$launch.0" :
// CHECK: scf.parallel
// CHECK: field.store {{.*}}, %[[CELL]][]
// CHECK: scf.parallel
// CHECK: field.atomic add {{.*}}, %[[CELL]][]
// CHECK: scf.parallel
// CHECK-NEXT: %[[SUM:.*]] = field.load %[[CELL]][]
// CHECK-NEXT: field.store %[[SUM]], %{{.*}}[]
// CHECK: return{{$}}
func.func @sum() -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %cell = "field.alloca"() : () -> !field.array<f32, []>
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
    %old = "field.atomic"(%v, %cell) {kind = "add"} : (f32, !field.array<f32, []>) -> f32
    scf.reduce
  }
  %sum = "field.load"(%cell) : (!field.array<f32, []>) -> f32
  return %sum : f32
}

// A value that one thread computes is loaded by the loop that uses it; arithmetic on arguments stays with the host.
// CHECK-LABEL: func.func @scalar(
// CHECK: %[[HOST:.*]] = arith.mulf
// CHECK: scf.parallel
// CHECK: %[[LOADED:.*]] = field.load
// CHECK: %[[VALUE:.*]] = arith.addf %[[LOADED]], %[[HOST]]
// CHECK-NEXT: field.store %[[VALUE]], %[[SHARED:[0-9]+]][]
// CHECK: scf.parallel
// CHECK-NEXT: %[[AGAIN:.*]] = field.load %[[SHARED]][]
// CHECK-NEXT: field.store %[[AGAIN]], %{{.*}}[%{{.*}}]
func.func @scalar(%a: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %square = arith.mulf %a, %a : f32
  %first = "field.load"(%x, %c0) : (!field.array<f32, [16]>, index) -> f32
  %sum = arith.addf %first, %square : f32
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    "field.store"(%sum, %x, %i) : (f32, !field.array<f32, [16]>, index) -> ()
    scf.reduce
  }
  return
}

// A bound in memory: a fixed number of iterations stride over the box.
// CHECK-LABEL: func.func @bound(
// CHECK: arith.fptosi
// CHECK: scf.parallel (%[[T:[a-z0-9]+]]) = (%{{[a-z0-9_]+}}) to (%[[MANY:[a-z0-9_]+]]) step
// CHECK-NEXT: field.load
// CHECK: scf.for %[[I:.*]] = %[[T]] to %{{.*}} step %[[MANY]]
// CHECK: field.store
func.func @bound(%v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %first = "field.load"(%x, %c0) : (!field.array<f32, [16]>, index) -> f32
  %word = arith.fptosi %first : f32 to i32
  %n = arith.index_cast %word : i32 to index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    "field.store"(%v, %x, %i) : (f32, !field.array<f32, [16]>, index) -> ()
    scf.reduce
  }
  return
}

// A buffer on the heap is the device's, allocated by the host; one on the stack is a field.
// CHECK-LABEL: func.func @buffers(
// CHECK: %[[HEAP:.*]] = gpu.alloc (%{{.*}}) : memref<?xf32>
// CHECK: scf.parallel
// CHECK: memref.store %{{.*}}, %[[HEAP]]
// CHECK: scf.parallel
// CHECK: memref.load %[[HEAP]]
// CHECK: field.load %{{.*}}[%{{.*}}] : f32
// CHECK: }
// CHECK-NEXT: gpu.dealloc %[[HEAP]]
func.func @buffers(%n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %heap = memref.alloc(%n) : memref<?xf32>
  %stack = memref.alloca() : memref<4xf32>
  memref.store %v, %heap[%c0] : memref<?xf32>
  memref.store %v, %stack[%c0] : memref<4xf32>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %a = memref.load %heap[%i] : memref<?xf32>
    %b = memref.load %stack[%c0] : memref<4xf32>
    %sum = arith.addf %a, %b : f32
    "field.store"(%sum, %x, %i) : (f32, !field.array<f32, [16]>, index) -> ()
    scf.reduce
  }
  memref.dealloc %heap : memref<?xf32>
  return
}

// An array of a launch is cleared by one thread.
// CHECK-LABEL: func.func @array(
// CHECK: scf.parallel
// CHECK: scf.for %[[I:[a-z0-9]+]] =
// CHECK: scf.for %[[J:[a-z0-9]+]] =
// CHECK-NEXT: field.store %{{.*}}, %{{.*}}[%[[I]], %[[J]]]
// CHECK: scf.parallel
func.func @array(%v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %a = "field.alloca"() : () -> !field.array<f32, [4, 8]>
  scf.parallel (%i) = (%c0) to (%c4) step (%c1) {
    "field.store"(%v, %a, %i, %i) : (f32, !field.array<f32, [4, 8]>, index, index) -> ()
    scf.reduce
  }
  return
}

// A size that is found in memory is copied to the host, behind the launch that finds it.
// CHECK-LABEL: func.func @sized(
// CHECK: %[[WORD:.*]] = gpu.alloc () : memref<1xi64>
// CHECK: scf.parallel
// CHECK: %[[FOUND:.*]] = field.load
// CHECK: memref.store %{{.*}}, %[[WORD]]
// CHECK: %[[HERE:.*]] = memref.alloca() : memref<1xi64>
// CHECK-NEXT: gpu.memcpy %[[HERE]], %[[WORD]]
// CHECK: memref.load %[[HERE]]
// CHECK: %[[N:.*]] = arith.index_cast
// CHECK-NEXT: %[[TWICE:.*]] = arith.addi %[[N]], %[[N]]
// CHECK-NEXT: gpu.alloc (%[[TWICE]]) : memref<?xf32>
// CHECK: scf.parallel
// CHECK: memref.store
// CHECK: gpu.dealloc
func.func @sized(%v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %first = "field.load"(%x, %c0) : (!field.array<f32, [16]>, index) -> f32
  %word = arith.fptosi %first : f32 to i32
  %n = arith.index_cast %word : i32 to index
  %known = "field.fetch"(%n) : (index) -> index
  %twice = arith.addi %known, %known : index
  %heap = memref.alloc(%twice) : memref<?xf32>
  memref.store %v, %heap[%c0] : memref<?xf32>
  memref.dealloc %heap : memref<?xf32>
  return
}

// The host reads what it tells a launch itself: loops take the value.
// CHECK-LABEL: func.func @begun(
// CHECK-NOT: scf.parallel
// CHECK: %[[WORD:.*]] = field.load %{{.*}}[] : i8
// CHECK: %[[BEGUN:.*]] = arith.cmpi ne, %[[WORD]], %{{.*}} : i8
// CHECK: scf.parallel
// CHECK: arith.select %[[BEGUN]]
func.func @begun(%v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0 : i8
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %there = "field.get"() {field = @"$begun.x"} : () -> !field.array<i8, []>
  %word = "field.load"(%there) : (!field.array<i8, []>) -> i8
  %begun = arith.cmpi ne, %word, %none : i8
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    %old = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
    %first = arith.select %begun, %zero, %old : f32
    %sum = arith.addf %first, %v : f32
    "field.store"(%sum, %x, %i) : (f32, !field.array<f32, [16]>, index) -> ()
    scf.reduce
  }
  return
}
