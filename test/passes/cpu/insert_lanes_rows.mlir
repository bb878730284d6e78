// RUN: mlirad-opt %s --insert-lanes="width=8 always=true" --canonicalize --cse 2>&1 | filecheck %s
// RUN: mlirad-opt %s --insert-lanes="width=8 always=true" --insert-lanes="width=8 always=true" --canonicalize --cse 2>&1 | filecheck %s

// Components that lie in one row are loaded as rows of four, and become columns; of the last row is
// loaded what is in front of it, for behind it may be nothing. One alone is loaded lane by lane.
// CHECK-LABEL: func.func @loads
// CHECK-COUNT-7: vector.load %{{.*}} : memref<144xf32>, vector<4xf32>
// CHECK: %[[LAST:.*]] = vector.load %{{.*}} : memref<144xf32>, vector<4xf32>
// CHECK: vector.shuffle %[[LAST]], %{{.*}} [1, 2, 3, 4]
// CHECK: vector.shuffle %{{.*}} [0, 1, 2, 3, 4, 5, 6, 7] : vector<4xf32>, vector<4xf32>
// CHECK: vector.shuffle %{{.*}} [0, 8, 1, 9, 4, 12, 5, 13] : vector<8xf32>, vector<8xf32>
// CHECK: vector.shuffle %{{.*}} [0, 1, 8, 9, 4, 5, 12, 13] : vector<8xf32>, vector<8xf32>
// CHECK-COUNT-8: memref.load
// CHECK: vector.from_elements
func.func @loads(%x: memref<16x9xf32>, %y: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c16 step %c1 {
    %a = memref.load %x[%i, %c1] : memref<16x9xf32>
    %b = memref.load %x[%i, %c3] : memref<16x9xf32>
    %c = memref.load %x[%i, %c8] : memref<16x9xf32>
    %d = arith.addf %a, %b : f32
    %e = arith.addf %d, %c : f32
    memref.store %e, %y[%i] : memref<16xf32>
  } {field.any_order}
  return
}

// Rows are stored where all of a row is.
// CHECK-LABEL: func.func @stores
// CHECK-COUNT-8: vector.store %{{.*}} : memref<80xf32>, vector<4xf32>
// CHECK-COUNT-8: memref.store
// CHECK-NOT: .store
func.func @stores(%x: memref<16xf32>, %y: memref<16x5xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c16 step %c1 {
    %a = memref.load %x[%i] : memref<16xf32>
    %b = arith.mulf %a, %a : f32
    memref.store %a, %y[%i, %c2] : memref<16x5xf32>
    memref.store %b, %y[%i, %c0] : memref<16x5xf32>
    memref.store %b, %y[%i, %c1] : memref<16x5xf32>
    memref.store %a, %y[%i, %c3] : memref<16x5xf32>
    memref.store %a, %y[%i, %c4] : memref<16x5xf32>
  } {field.any_order}
  return
}

// Updates of components, one after the other, meet nowhere: rows are loaded first and stored last.
// CHECK-LABEL: func.func @updates
// CHECK-COUNT-8: vector.load %{{.*}} : memref<64xf32>, vector<4xf32>
// CHECK-COUNT-8: vector.store %{{.*}} : memref<64xf32>, vector<4xf32>
// CHECK-NOT: memref.store
func.func @updates(%x: memref<16xf32>, %y: memref<16x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c16 step %c1 {
    %a = memref.load %x[%i] : memref<16xf32>
    %0 = memref.load %y[%i, %c0] : memref<16x4xf32>
    %4 = arith.addf %0, %a : f32
    memref.store %4, %y[%i, %c0] : memref<16x4xf32>
    %1 = memref.load %y[%i, %c1] : memref<16x4xf32>
    %5 = arith.addf %1, %a : f32
    memref.store %5, %y[%i, %c1] : memref<16x4xf32>
    %2 = memref.load %y[%i, %c2] : memref<16x4xf32>
    %6 = arith.addf %2, %a : f32
    memref.store %6, %y[%i, %c2] : memref<16x4xf32>
    %3 = memref.load %y[%i, %c3] : memref<16x4xf32>
    %7 = arith.addf %3, %a : f32
    memref.store %7, %y[%i, %c3] : memref<16x4xf32>
  } {field.any_order}
  return
}

// A store to a neighbour's element stands between these: it stays there.
// CHECK-LABEL: func.func @between
// CHECK-COUNT-8: memref.load %{{.*}} : memref<85xf32>
// CHECK: vector.from_elements
// CHECK-COUNT-8: memref.store
// CHECK-COUNT-8: memref.load %{{.*}} : memref<85xf32>
// CHECK: vector.from_elements
func.func @between(%x: memref<16xf32>, %y: memref<17x5xf32>, %z: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c16 step %c1 {
    %a = memref.load %x[%i] : memref<16xf32>
    %0 = memref.load %y[%i, %c0] : memref<17x5xf32>
    %next = arith.addi %i, %c1 : index
    memref.store %a, %y[%next, %c1] : memref<17x5xf32>
    %1 = memref.load %y[%i, %c1] : memref<17x5xf32>
    %s = arith.addf %0, %1 : f32
    memref.store %s, %z[%i] : memref<16xf32>
  } {field.any_order}
  return
}

// The iterations that were at the ends of a loop run as lanes too, where there are enough: each has an
// element of its own, as the mark says.
// CHECK-LABEL: func.func @ends
// CHECK: scf.for %{{.*}} = %c1 to %c17 step %c8
// CHECK: vector.load
// CHECK-COUNT-8: memref.load
// CHECK: vector.from_elements
// CHECK-COUNT-8: memref.store
// CHECK-NOT: memref.store
func.func @ends(%x: memref<24xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c17 = arith.constant 17 : index
  scf.for %i = %c1 to %c17 step %c1 {
    %a = memref.load %x[%i] : memref<24xf32>
    %b = math.exp %a : f32
    memref.store %b, %x[%i] : memref<24xf32>
  } {field.any_order}
  scf.for %k = %c0 to %c8 step %c1 {
    %is_first = arith.cmpi slt, %k, %c1 : index
    %behind = arith.addi %k, %c16 : index
    %i = arith.select %is_first, %k, %behind {field.distinct} : index
    %a = memref.load %x[%i] : memref<24xf32>
    %b = math.exp %a : f32
    memref.store %b, %x[%i] : memref<24xf32>
  } {field.any_order, field.at_end}
  return
}

// The same on a ring: numbers from 0 to 23 that differ have different remainders by 24, and so have
// these plus a constant.
// CHECK-LABEL: func.func @ring
// CHECK: scf.for %{{.*}} = %c1 to %c17 step %c8
// CHECK-COUNT-8: memref.load
// CHECK: vector.from_elements
// CHECK-COUNT-8: memref.store
// CHECK-COUNT-8: memref.load
// CHECK: vector.from_elements
// CHECK-COUNT-8: memref.store
// CHECK-NOT: memref.store
func.func @ring(%x: memref<24xf32>, %y: memref<24xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c17 = arith.constant 17 : index
  %c23 = arith.constant 23 : index
  %c24 = arith.constant 24 : index
  scf.for %i = %c1 to %c17 step %c1 {
    %a = memref.load %x[%i] : memref<24xf32>
    %b = math.exp %a : f32
    memref.store %b, %x[%i] : memref<24xf32>
  } {field.any_order}
  scf.for %k = %c0 to %c8 step %c1 {
    %is_first = arith.cmpi slt, %k, %c1 : index
    %behind = arith.addi %k, %c16 : index
    %i = arith.select %is_first, %k, %behind {field.distinct} : index
    %j = arith.addi %i, %c23 : index
    %quotient = arith.floordivsi %j, %c24 : index
    %multiple = arith.muli %quotient, %c24 : index
    %left = arith.subi %j, %multiple : index
    %a = memref.load %x[%left] : memref<24xf32>
    %b = math.exp %a : f32
    memref.store %b, %x[%left] : memref<24xf32>
    %right = arith.remsi %j, %c24 : index
    %c = memref.load %y[%right] : memref<24xf32>
    %d = math.exp %c : f32
    memref.store %d, %y[%right] : memref<24xf32>
  } {field.any_order, field.at_end}
  return
}

// But numbers from 0 to 24 have not: lanes may meet.
// CHECK-LABEL: func.func @short_ring
// CHECK: scf.for %{{.*}} = %c0 to %c8 step %c1
// CHECK: memref.store
func.func @short_ring(%x: memref<24xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c17 = arith.constant 17 : index
  %c24 = arith.constant 24 : index
  scf.for %i = %c1 to %c17 step %c1 {
    %a = memref.load %x[%i] : memref<24xf32>
    %b = math.exp %a : f32
    memref.store %b, %x[%i] : memref<24xf32>
  } {field.any_order}
  scf.for %k = %c0 to %c8 step %c1 {
    %is_first = arith.cmpi slt, %k, %c1 : index
    %behind = arith.addi %k, %c17 : index
    %i = arith.select %is_first, %k, %behind {field.distinct} : index
    %rest = arith.remsi %i, %c24 : index
    %a = memref.load %x[%rest] : memref<24xf32>
    %b = math.exp %a : f32
    memref.store %b, %x[%rest] : memref<24xf32>
  } {field.any_order, field.at_end}
  return
}
