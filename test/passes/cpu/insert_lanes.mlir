// RUN: mlirad-opt %s --insert-lanes="width=8 always=true" --canonicalize --cse 2>&1 | filecheck %s
// RUN: mlirad-opt %s --insert-lanes="width=8 always=true" --insert-lanes="width=8 always=true" --canonicalize --cse 2>&1 | filecheck %s

// Neighbours are loaded together, what all iterations share is loaded once; 20 = 2 * 8 + 4.
// CHECK-LABEL: func.func @neighbours
// CHECK: scf.for %[[I:.*]] = %c0 to %c16 step %c8
// CHECK: vector.load %{{.*}}[%[[I]]] : memref<20xf32>, vector<8xf32>
// CHECK: %[[S:.*]] = memref.load %arg1[]
// CHECK: vector.broadcast %[[S]]
// CHECK: vector.store
// CHECK: vector.maskedload %{{.*}}[%c16]
// CHECK: vector.maskedstore
func.func @neighbours(%x: memref<20xf32>, %s: memref<f32>, %y: memref<20xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c20 = arith.constant 20 : index
  scf.for %i = %c0 to %c20 step %c1 {
    %a = memref.load %x[%i] : memref<20xf32>
    %b = memref.load %s[] : memref<f32>
    %c = arith.mulf %a, %b {field.exact} : f32
    memref.store %c, %y[%i] : memref<20xf32>
  } {field.any_order}
  return
}

// The inner loop, which all run equally often, stays; its sum becomes one of each lane.
// CHECK-LABEL: func.func @rows
// CHECK: scf.for %[[I:.*]] = %c0 to %c16 step %c8
// CHECK: %[[R:.*]] = scf.for %{{.*}} iter_args(%[[A:.*]] = %{{.*}}) -> (vector<8xf32>)
// CHECK-COUNT-8: memref.load %{{.*}} : memref<80xf32>
// CHECK: %[[X:.*]] = vector.from_elements
// CHECK: arith.addf %[[A]], %[[X]] {field.exact} : vector<8xf32>
// CHECK: vector.store %[[R]]
// CHECK-NOT: masked
func.func @rows(%x: memref<16x5xf32>, %y: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c16 step %c1 {
    %r = scf.for %k = %c0 to %c5 step %c1 iter_args(%a = %zero) -> (f32) {
      %v = memref.load %x[%i, %k] : memref<16x5xf32>
      %b = arith.addf %a, %v {field.exact} : f32
      scf.yield %b : f32
    }
    memref.store %r, %y[%i] : memref<16xf32>
  } {field.any_order}
  return
}

// Elements of pairs are loaded with those between them.
// CHECK-LABEL: func.func @pairs
// CHECK: %[[A:.*]] = vector.load %{{.*}}[%c1]
// CHECK: %[[B:.*]] = vector.load %{{.*}}[%c8]
// CHECK: vector.shuffle %[[A]], %[[B]] [0, 2, 4, 6, 9, 11, 13, 15]
func.func @pairs(%x: memref<8x2xf32>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %v = memref.load %x[%i, %c1] : memref<8x2xf32>
    memref.store %v, %y[%i] : memref<8xf32>
  } {field.any_order}
  return
}

// What is behind a condition is not touched by lanes that do not meet it; a division by what they
// have there is one by 1.
// CHECK-LABEL: func.func @guarded
// CHECK: %[[C:.*]] = arith.cmpi sgt, %[[N:.*]], %{{.*}} : vector<8xi32>
// CHECK: %[[ANY:.*]] = vector.reduction <or>, %[[C]]
// CHECK-NEXT: scf.if %[[ANY]]
// CHECK: %[[D:.*]] = arith.select %[[C]], %[[N]], %{{.*}} : vector<8xi1>, vector<8xi32>
// CHECK: arith.divsi %{{.*}}, %[[D]]
// CHECK: vector.maskedstore %{{.*}}, %[[C]]
func.func @guarded(%n: memref<16xi32>, %y: memref<16xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0 : i32
  %hundred = arith.constant 100 : i32
  scf.for %i = %c0 to %c16 step %c1 {
    %v = memref.load %n[%i] : memref<16xi32>
    %some = arith.cmpi sgt, %v, %zero : i32
    scf.if %some {
      %q = arith.divsi %hundred, %v : i32
      memref.store %q, %y[%i] : memref<16xi32>
    }
  } {field.any_order}
  return
}

// Trips that differ: as many as any lane makes; the index is that of all.
// CHECK-LABEL: func.func @different_trips
// CHECK: %[[T:.*]] = arith.maxsi %{{.*}} : vector<8xindex>
// CHECK: %[[M:.*]] = vector.reduction <maxsi>, %[[T]]
// CHECK: scf.for %[[K:.*]] = %c0 to %[[M]] step %c1
// CHECK: %[[B:.*]] = vector.broadcast %[[K]]
// CHECK: %[[ON:.*]] = arith.cmpi slt, %[[B]], %[[T]]
// CHECK: arith.select %[[ON]]
func.func @different_trips(%n: memref<8xindex>, %x: memref<8xf32>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %one = arith.constant 1.0 : f32
  scf.for %i = %c0 to %c8 step %c1 {
    %trips = memref.load %n[%i] : memref<8xindex>
    %v = memref.load %x[%i] : memref<8xf32>
    %r = scf.for %k = %c0 to %trips step %c1 iter_args(%a = %one) -> (f32) {
      %b = arith.mulf %a, %v {field.exact} : f32
      scf.yield %b : f32
    }
    memref.store %r, %y[%i] : memref<8xf32>
  } {field.any_order}
  return
}

// A loop that lanes leave one after the other: the trips are counted once while all go on together.
// CHECK-LABEL: func.func @until
// CHECK: %[[W:.*]]:4 = scf.while
// CHECK: vector.reduction <or>
// CHECK: scf.condition
// CHECK: arith.addi %{{.*}} : i32
// CHECK: vector.store %[[W]]#
func.func @until(%x: memref<8xf32>, %n: memref<8xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %limit = arith.constant 4.0 : f32
  scf.for %i = %c0 to %c8 step %c1 {
    %v = memref.load %x[%i] : memref<8xf32>
    %r:2 = scf.while (%a = %v, %k = %zero) : (f32, i32) -> (f32, i32) {
      %small = arith.cmpf olt, %a, %limit : f32
      scf.condition(%small) %a, %k : f32, i32
    } do {
    ^bb0(%a: f32, %k: i32):
      %b = arith.addf %a, %a {field.exact} : f32
      %l = arith.addi %k, %one : i32
      scf.yield %b, %l : f32, i32
    }
    memref.store %r#1, %n[%i] : memref<8xi32>
  } {field.any_order}
  return
}

// What all add to one element is added up first; elements that may be the same are updated in turn.
// CHECK-LABEL: func.func @updates
// CHECK: %[[A:.*]] = vector.load
// CHECK: vector.extract_strided_slice %[[A]]
// CHECK: arith.addf {{.*}} : vector<4xf32>
// CHECK: arith.addf {{.*}} : vector<2xf32>
// CHECK: %[[OLD:.*]] = memref.load %arg1[]
// CHECK: memref.store %{{.*}}, %arg1[]
// CHECK-COUNT-8: memref.store %{{.*}}, %arg3
func.func @updates(%x: memref<8xf32>, %s: memref<f32>, %at: memref<8xindex>, %h: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %v = memref.load %x[%i] : memref<8xf32>
    %old = memref.load %s[] : memref<f32>
    %new = arith.addf %old, %v {field.derivative} : f32
    memref.store %new, %s[] : memref<f32>
    %k = memref.load %at[%i] : memref<8xindex>
    %old_h = memref.load %h[%k] : memref<4xf32>
    %new_h = arith.addf %old_h, %v {field.derivative} : f32
    memref.store %new_h, %h[%k] : memref<4xf32>
  } {field.any_order}
  return
}

// Into a small array that all update often, each lane adds to sums of its own; they are added up behind the nest.
// CHECK-LABEL: func.func @small_array
// CHECK: %[[OWN:.*]] = memref.alloca() : memref<4x8xf32>
// CHECK: scf.for %[[E:.*]] = %c0 to %c4
// CHECK: vector.store %cst, %[[OWN]][%[[E]], %c0]
// CHECK: scf.for %{{.*}} = %c0 to %c64 step %c8
// CHECK: scf.for %[[K:.*]] = %c0 to %c4
// CHECK-NOT: extract
// CHECK: %[[OLD:.*]] = vector.load %[[OWN]][%[[K]], %c0]
// CHECK-NOT: extract
// CHECK: %[[NEW:.*]] = arith.subf %[[OLD]], %{{.*}} : vector<8xf32>
// CHECK: vector.store %[[NEW]], %[[OWN]][%[[K]], %c0]
// CHECK: scf.for %[[E:.*]] = %c0 to %c4
// CHECK: vector.load %[[OWN]][%[[E]], %c0]
// CHECK: %[[ALL:.*]] = vector.extract %{{.*}}[0]
// CHECK: %[[S:.*]] = memref.load %arg1[%[[E]]]
// CHECK: arith.addf %[[S]], %[[ALL]]
func.func @small_array(%x: memref<64xf32>, %s: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c64 step %c1 {
    %a = memref.load %x[%i] : memref<64xf32>
    scf.for %k = %c0 to %c4 step %c1 {
      %b = memref.load %s[%k] : memref<4xf32>
      %c = arith.subf %b, %a {field.derivative} : f32
      memref.store %c, %s[%k] : memref<4xf32>
    }
  } {field.any_order}
  return
}

// Threads that share a loop have a row each: behind the nest one adds to its own only.
// CHECK-LABEL: func.func private @own_rows
// CHECK: memref.alloca() : memref<4x8xf32>
// CHECK: memref.load %arg4[%arg2, %{{.*}}]
// CHECK: memref.store %{{.*}}, %arg4[%arg2, %{{.*}}]
func.func private @own_rows(%low: index, %high: index, %chunk: index, %x: memref<64xf32>, %s: memref<2x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %low to %high step %c1 {
    %a = memref.load %x[%i] : memref<64xf32>
    scf.for %k = %c0 to %c4 step %c1 {
      %b = memref.load %s[%chunk, %k] : memref<2x4xf32>
      %c = arith.addf %b, %a {field.derivative} : f32
      memref.store %c, %s[%chunk, %k] : memref<2x4xf32>
    }
  } {field.any_order}
  return
}

// Elements of which others own the neighbours are updated in memory.
// CHECK-LABEL: func.func private @own_elements
// CHECK-NOT: memref.alloca
// CHECK: return
func.func private @own_elements(%low: index, %high: index, %chunk: index, %x: memref<4x64xf32>, %s: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %k = %low to %high step %c1 {
    scf.for %i = %c0 to %c64 step %c1 {
      %a = memref.load %x[%k, %i] : memref<4x64xf32>
      %b = memref.load %s[%k] : memref<4xf32>
      %c = arith.addf %b, %a {field.derivative} : f32
      memref.store %c, %s[%k] : memref<4xf32>
    } {field.any_order}
  } {field.any_order}
  return
}

// CHECK-LABEL: func.func @share
func.func @share(%x: memref<64xf32>, %y: memref<4x64xf32>, %r: memref<2x4xf32>, %s: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  scf.parallel (%k) = (%c0) to (%c2) step (%c1) {
    %a = arith.muli %k, %c32 : index
    %b = arith.addi %a, %c32 : index
    func.call @own_rows(%a, %b, %k, %x, %r) : (index, index, index, memref<64xf32>, memref<2x4xf32>) -> ()
    %e = arith.muli %k, %c2 : index
    %f = arith.addi %e, %c2 : index
    func.call @own_elements(%e, %f, %k, %y, %s) : (index, index, index, memref<4x64xf32>, memref<4xf32>) -> ()
    scf.reduce
  }
  return
}

// Where the loop reads the array too, it is updated in memory.
// CHECK-LABEL: func.func @small_array_read
// CHECK-NOT: memref.alloca
// CHECK: return
func.func @small_array_read(%x: memref<64xf32>, %s: memref<4xf32>, %y: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c64 step %c1 {
    %a = memref.load %x[%i] : memref<64xf32>
    %r = memref.load %s[%c0] : memref<4xf32>
    memref.store %r, %y[%i] : memref<64xf32>
    scf.for %k = %c0 to %c4 step %c1 {
      %b = memref.load %s[%k] : memref<4xf32>
      %c = arith.subf %b, %a {field.derivative} : f32
      memref.store %c, %s[%k] : memref<4xf32>
    }
  } {field.any_order}
  return
}

// A sum over the loop is one a lane, and then their sum.
// CHECK-LABEL: func.func @sum
// CHECK: %[[S:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}) -> (vector<8xf32>)
// CHECK: scf.if
// CHECK: arith.select %{{.*}} : vector<8xi1>, vector<8xf32>
// CHECK: vector.extract_strided_slice
func.func @sum(%x: memref<?xf32>, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero) -> (f32) {
    %v = memref.load %x[%i] : memref<?xf32>
    %b = arith.addf %a, %v {field.loose} : f32
    scf.yield %b : f32
  } {field.any_order}
  return %r : f32
}

// A buffer of the iteration is one a lane.
// CHECK-LABEL: func.func @buffer
// CHECK: memref.alloca() : memref<4x8xf32>
// CHECK: vector.store
// CHECK: vector.load
func.func @buffer(%x: memref<8xf32>, %k: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %b = memref.alloca() : memref<4xf32>
  scf.for %i = %c0 to %c8 step %c1 {
    %v = memref.load %x[%i] : memref<8xf32>
    memref.store %v, %b[%k] : memref<4xf32>
    %w = memref.load %b[%c1] : memref<4xf32>
    memref.store %w, %x[%i] : memref<8xf32>
  } {field.any_order}
  return
}

// Left alone: a sum whose order matters, what is not known to be lanes' work, and a loop that is not
// parallel.
// CHECK-LABEL: func.func @left_alone
// CHECK-NOT: vector
// CHECK: return
func.func @left_alone(%x: memref<8xf32>, %s: memref<f32>) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %r = scf.for %i = %c0 to %c8 step %c1 iter_args(%a = %zero) -> (f32) {
    %v = memref.load %x[%i] : memref<8xf32>
    %b = arith.addf %a, %v {field.exact} : f32
    scf.yield %b : f32
  } {field.any_order}
  scf.for %i = %c0 to %c8 step %c1 {
    %v = memref.load %x[%i] : memref<8xf32>
    %old = memref.load %s[] : memref<f32>
    %new = arith.addf %old, %v {field.exact} : f32
    memref.store %new, %s[] : memref<f32>
  } {field.any_order}
  scf.for %i = %c0 to %c8 step %c1 {
    func.call @elsewhere(%i) : (index) -> ()
  } {field.any_order}
  scf.for %i = %c0 to %c8 step %c1 {
    memref.store %zero, %x[%i] : memref<8xf32>
  }
  return %r : f32
}
func.func private @elsewhere(index)

// A buffer whose size the iteration knows: as large as any lane wants it.
// CHECK-LABEL: func.func @own_size
// CHECK: %[[M:.*]] = vector.reduction <maxsi>
// CHECK: memref.alloc(%[[M]]) : memref<?x8xf32>
// CHECK: memref.dealloc
func.func @own_size(%n: memref<8xindex>, %x: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %size = memref.load %n[%i] : memref<8xindex>
    %v = memref.load %x[%i] : memref<8xf32>
    %b = memref.alloc(%size) : memref<?xf32>
    scf.for %k = %c0 to %size step %c1 {
      memref.store %v, %b[%k] : memref<?xf32>
    }
    %last = arith.subi %size, %c1 : index
    %w = memref.load %b[%last] : memref<?xf32>
    memref.store %w, %x[%i] : memref<8xf32>
    memref.dealloc %b : memref<?xf32>
  } {field.any_order}
  return
}

// What an update finds differs from lane to lane, and so does what is made of it.
// CHECK-LABEL: func.func @counted
// CHECK-COUNT-8: memref.load %{{.*}}[] : memref<i64>
// CHECK: %[[OLD:.*]] = vector.from_elements
// CHECK: arith.cmpi eq, %[[OLD]], %{{.*}} : vector<8xi64>
func.func @counted(%count: memref<i64>, %y: memref<8xi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  scf.for %i = %c0 to %c8 step %c1 {
    %old = memref.load %count[] : memref<i64>
    %new = arith.addi %old, %one : i64
    memref.store %new, %count[] : memref<i64>
    %first = arith.cmpi eq, %old, %zero : i64
    %found = arith.select %first, %one, %zero : i64
    memref.store %found, %y[%i] : memref<8xi64>
  } {field.any_order}
  return
}

// Lanes go back along rows of 8 elements each: a trip fetches as many bytes of the rows behind these
// as it loads.
// CHECK-LABEL: func.func @back_along_rows
// CHECK: scf.for %[[I:.*]] = %c0 to %c16 step %c8
// CHECK: scf.for %[[K:.*]] = %c0 to %c8 step %c1
// CHECK: memref.prefetch %{{.*}}[%{{.*}}], read, locality<3>, data : memref<128xf32>
// CHECK: memref.prefetch %{{.*}}[%{{.*}}], write, locality<3>, data : memref<128xf32>
// CHECK-NOT: memref.prefetch
func.func @back_along_rows(%x: memref<16x8xf32>, %y: memref<16x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c16 step %c1 {
    %sum = scf.for %k = %c0 to %c8 step %c1 iter_args(%a = %zero) -> (f32) {
      %j = arith.subi %c7, %k : index
      %v = memref.load %x[%i, %j] : memref<16x8xf32>
      %b = arith.addf %a, %v {field.exact} : f32
      memref.store %b, %y[%i, %j] : memref<16x8xf32>
      scf.yield %b : f32
    }
  } {field.any_order}
  return
}

// Forwards, processors foresee 16 rows.
// CHECK-LABEL: func.func @along_few_rows
// CHECK-NOT: memref.prefetch
func.func @along_few_rows(%x: memref<16x8xf32>, %y: memref<16x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c16 step %c1 {
    %sum = scf.for %k = %c0 to %c8 step %c1 iter_args(%a = %zero) -> (f32) {
      %v = memref.load %x[%i, %k] : memref<16x8xf32>
      %b = arith.addf %a, %v {field.exact} : f32
      memref.store %b, %y[%i, %k] : memref<16x8xf32>
      scf.yield %b : f32
    }
  } {field.any_order}
  return
}

// But not 40; the loop goes along all but the first element.
// CHECK-LABEL: func.func @along_many_rows
// CHECK-COUNT-5: memref.prefetch
// CHECK-NOT: memref.prefetch
func.func @along_many_rows(%x: memref<8x8xf32>, %y: memref<8x8xf32>, %z: memref<8x8xf32>, %u: memref<8x8xf32>, %w: memref<8x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c8 step %c1 {
    %sum = scf.for %k = %c1 to %c8 step %c1 iter_args(%a = %zero) -> (f32) {
      %p = memref.load %x[%i, %k] : memref<8x8xf32>
      %q = memref.load %y[%i, %k] : memref<8x8xf32>
      %r = memref.load %z[%i, %k] : memref<8x8xf32>
      %s = memref.load %u[%i, %k] : memref<8x8xf32>
      %b = arith.addf %a, %p {field.exact} : f32
      %c = arith.mulf %q, %r {field.exact} : f32
      %d = arith.mulf %c, %s {field.exact} : f32
      %e = arith.addf %b, %d {field.exact} : f32
      memref.store %e, %w[%i, %k] : memref<8x8xf32>
      scf.yield %e : f32
    }
  } {field.any_order}
  return
}

// Accesses at known distances from an element of each lane: where it is is taken out of a vector once.
// CHECK-LABEL: func.func @around
// CHECK: %[[CELLS:.*]] = arith.addi %{{.*}}, %{{.*}} : vector<8xi32>
// CHECK: %[[FIRST:.*]] = vector.extract %[[CELLS]][0] : i32
// CHECK: %[[CELL:.*]] = arith.index_cast %[[FIRST]] : i32 to index
// CHECK: %[[OFFSET:.*]] = arith.muli %[[CELL]], %c3
// CHECK: %[[SECOND:.*]] = arith.addi %[[OFFSET]], %c1
// CHECK: %[[OLD:.*]] = memref.load %{{.*}}[%[[SECOND]]] : memref<300xf32>
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[SECOND]]] : memref<300xf32>
// CHECK: %[[NEXT:.*]] = arith.addi %[[OFFSET]], %c32
// CHECK: memref.load %{{.*}}[%[[NEXT]]] : memref<300xf32>
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[NEXT]]] : memref<300xf32>
func.func @around(%at: memref<8x2xi32>, %g: memref<10x10x3xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %one = arith.constant 1 : i32
  %x = arith.constant 1.5 : f32
  scf.for %i = %c0 to %c8 step %c1 {
    %a = memref.load %at[%i, %c0] : memref<8x2xi32>
    %b = memref.load %at[%i, %c1] : memref<8x2xi32>
    %k = arith.index_cast %a : i32 to index
    %l = arith.index_cast %b : i32 to index
    %old = memref.load %g[%k, %l, %c1] : memref<10x10x3xf32>
    %new = arith.addf %old, %x {field.loose} : f32
    memref.store %new, %g[%k, %l, %c1] : memref<10x10x3xf32>
    %next = arith.addi %a, %one : i32
    %m = arith.index_cast %next : i32 to index
    %other = memref.load %g[%m, %l, %c2] : memref<10x10x3xf32>
    %sum = arith.addf %other, %x {field.loose} : f32
    memref.store %sum, %g[%m, %l, %c2] : memref<10x10x3xf32>
  } {field.any_order}
  return
}
