// RUN: mlirad-opt %s --insert-lanes="width=8 always=true" --canonicalize --cse 2>&1 | filecheck %s
// RUN: mlirad-opt %s --insert-lanes="width=8 always=true" --insert-lanes="width=8 always=true" --canonicalize --cse 2>&1 | filecheck %s

// Of elements beside one another around a cell of each lane, rows of four and of two are loaded, and
// become columns. Nothing is loaded behind the last element.
// CHECK-LABEL: func.func @loads
// CHECK-COUNT-8: vector.load %{{.*}} : memref<128xf32>, vector<4xf32>
// CHECK: vector.shuffle %{{.*}} [0, 8, 1, 9, 4, 12, 5, 13] : vector<8xf32>, vector<8xf32>
// CHECK-COUNT-8: vector.load %{{.*}} : memref<128xf32>, vector<2xf32>
// CHECK: vector.shuffle %{{.*}} [0, 2, 8, 10, 4, 6, 12, 14] : vector<8xf32>, vector<8xf32>
// CHECK: vector.shuffle %{{.*}} [1, 3, 9, 11, 5, 7, 13, 15] : vector<8xf32>, vector<8xf32>
// CHECK-NOT: memref.load
// CHECK: return
func.func @loads(%x: memref<64x2xf32>, %k: memref<16xi32>, %y: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  scf.for %i = %c0 to %c16 step %c1 {
    %n = memref.load %k[%i] : memref<16xi32>
    %n1 = arith.addi %n, %one : i32
    %n2 = arith.addi %n, %two : i32
    %at = arith.index_cast %n : i32 to index
    %at1 = arith.index_cast %n1 : i32 to index
    %at2 = arith.index_cast %n2 : i32 to index
    %a = memref.load %x[%at, %c0] : memref<64x2xf32>
    %b = memref.load %x[%at, %c1] : memref<64x2xf32>
    %c = memref.load %x[%at1, %c0] : memref<64x2xf32>
    %d = memref.load %x[%at1, %c1] : memref<64x2xf32>
    %e = memref.load %x[%at2, %c0] : memref<64x2xf32>
    %f = memref.load %x[%at2, %c1] : memref<64x2xf32>
    %ab = arith.addf %a, %b : f32
    %cd = arith.addf %c, %d : f32
    %ef = arith.mulf %e, %f : f32
    %abcd = arith.mulf %ab, %cd : f32
    %all = arith.addf %abcd, %ef : f32
    memref.store %all, %y[%i] : memref<16xf32>
  } {field.any_order}
  return
}

// Updates are rows within cells: these have two elements, so that what one lane stores is a row that
// another loads, or has nothing of it. One that is alone is done lane by lane.
// CHECK-LABEL: func.func @updates
// CHECK-COUNT-8: memref.store
// CHECK-COUNT-2: vector.shuffle %{{.*}} : vector<8xf32>, vector<8xf32>
// CHECK: %[[OLD:.*]] = vector.load %{{.*}} : memref<128xf32>, vector<2xf32>
// CHECK: %[[NEW:.*]] = arith.addf %[[OLD]], %{{.*}} {field.loose} : vector<2xf32>
// CHECK: vector.store %[[NEW]], %{{.*}} : memref<128xf32>, vector<2xf32>
// CHECK-COUNT-7: vector.store %{{.*}} : memref<128xf32>, vector<2xf32>
// CHECK-NOT: .store
// CHECK: return
func.func @updates(%x: memref<64x2xf32>, %k: memref<16xi32>, %y: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %one = arith.constant 1 : i32
  scf.for %i = %c0 to %c16 step %c1 {
    %n = memref.load %k[%i] : memref<16xi32>
    %n1 = arith.addi %n, %one : i32
    %at = arith.index_cast %n : i32 to index
    %at1 = arith.index_cast %n1 : i32 to index
    %v = memref.load %y[%i] : memref<16xf32>
    %w = arith.mulf %v, %v : f32
    %b = memref.load %x[%at, %c1] : memref<64x2xf32>
    %b1 = arith.addf %b, %v {field.loose} : f32
    memref.store %b1, %x[%at, %c1] : memref<64x2xf32>
    %c = memref.load %x[%at1, %c0] : memref<64x2xf32>
    %c1f = arith.addf %c, %w {field.loose} : f32
    memref.store %c1f, %x[%at1, %c0] : memref<64x2xf32>
    %d = memref.load %x[%at1, %c1] : memref<64x2xf32>
    %d1 = arith.addf %d, %v {field.loose} : f32
    memref.store %d1, %x[%at1, %c1] : memref<64x2xf32>
  } {field.any_order}
  return
}

// What lanes load between updates was not stored by the second: each update is done for itself.
// CHECK-LABEL: func.func @loaded_between
// CHECK-COUNT-8: memref.store
// CHECK: vector.from_elements
// CHECK-COUNT-8: memref.store
// CHECK-NOT: .store
// CHECK: return
func.func @loaded_between(%x: memref<64x2xf32>, %k: memref<16xi32>, %y: memref<16xf32>, %z: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c16 step %c1 {
    %n = memref.load %k[%i] : memref<16xi32>
    %at = arith.index_cast %n : i32 to index
    %v = memref.load %y[%i] : memref<16xf32>
    %a = memref.load %x[%at, %c0] : memref<64x2xf32>
    %a1 = arith.addf %a, %v {field.loose} : f32
    memref.store %a1, %x[%at, %c0] : memref<64x2xf32>
    %r = memref.load %x[%at, %c1] : memref<64x2xf32>
    memref.store %r, %z[%i] : memref<16xf32>
    %b = memref.load %x[%at, %c1] : memref<64x2xf32>
    %b1 = arith.addf %b, %v {field.loose} : f32
    memref.store %b1, %x[%at, %c1] : memref<64x2xf32>
  } {field.any_order}
  return
}
