// RUN: mlirad-opt %s --insert-lanes="width=16" 2>&1 | filecheck %s
// RUN: mlirad-opt %s --insert-lanes="width=16" --insert-lanes="width=16" 2>&1 | filecheck %s

// Maxima of rows: LLVM has vectors along a row, which lies side by side; lanes would take 16 rows.
// CHECK-LABEL: func.func @largest
// CHECK-NOT: vector
// CHECK: return
func.func @largest(%x: memref<64x1024xf32>, %y: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 64 : index
  %columns = arith.constant 1024 : index
  %least = arith.constant 0xFF800000 : f32
  scf.for %i = %c0 to %rows step %c1 {
    %m = scf.for %k = %c0 to %columns step %c1 iter_args(%a = %least) -> (f32) {
      %v = memref.load %x[%i, %k] : memref<64x1024xf32>
      %b = arith.maximumf %a, %v {field.exact} : f32
      scf.yield %b : f32
    }
    memref.store %m, %y[%i] : memref<64xf32>
  } {field.any_order}
  return
}

// Sums in a given order have no vectors along a row.
// CHECK-LABEL: func.func @in_order
// CHECK: arith.addf %{{.*}} : vector<16xf32>
func.func @in_order(%x: memref<64x1024xf32>, %y: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 64 : index
  %columns = arith.constant 1024 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %rows step %c1 {
    %m = scf.for %k = %c0 to %columns step %c1 iter_args(%a = %zero) -> (f32) {
      %v = memref.load %x[%i, %k] : memref<64x1024xf32>
      %b = arith.addf %a, %v {field.exact} : f32
      scf.yield %b : f32
    }
    memref.store %m, %y[%i] : memref<64xf32>
  } {field.any_order}
  return
}

// A maximum that is also used on its way is no vector of LLVM's.
// CHECK-LABEL: func.func @running
// CHECK: arith.maximumf %{{.*}} : vector<16xf32>
func.func @running(%x: memref<64x1024xf32>, %y: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 64 : index
  %columns = arith.constant 1024 : index
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  scf.for %i = %c0 to %rows step %c1 {
    %m:2 = scf.for %k = %c0 to %columns step %c1 iter_args(%a = %least, %s = %zero) -> (f32, f32) {
      %v = memref.load %x[%i, %k] : memref<64x1024xf32>
      %b = arith.maximumf %a, %v {field.exact} : f32
      %t = arith.addf %s, %b : f32
      scf.yield %b, %t : f32, f32
    }
    memref.store %m#1, %y[%i] : memref<64xf32>
  } {field.any_order}
  return
}

// Lanes cost the same in either loop: 16 rows of two arrays are 32 pages.
// CHECK-LABEL: func.func @few_pages
// CHECK: scf.for %{{.*}} step %{{[0-9]+}} {
// CHECK: scf.for %{{.*}} step %c1 {
func.func @few_pages(%x0: memref<64x256x9xf32>, %x1: memref<64x256x9xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %rows = arith.constant 64 : index
  %columns = arith.constant 256 : index
  scf.for %i = %c0 to %rows step %c1 {
    scf.for %j = %c0 to %columns step %c1 {
      %k = arith.addi %i, %c1 : index
      %m = arith.addi %j, %c1 : index
      %y = arith.remui %k, %rows : index
      %z = arith.remui %m, %columns : index
      %a0 = memref.load %x0[%y, %z, %c0] : memref<64x256x9xf32>
      %b0 = math.exp %a0 : f32
      memref.store %b0, %x0[%i, %j, %c3] : memref<64x256x9xf32>
      %a1 = memref.load %x1[%y, %z, %c0] : memref<64x256x9xf32>
      %b1 = math.exp %a1 : f32
      memref.store %b1, %x1[%i, %j, %c3] : memref<64x256x9xf32>
    } {field.any_order}
  } {field.any_order}
  return
}

// 16 rows of five arrays are more pages than a processor has at hand: lanes stay within a row.
// CHECK-LABEL: func.func @many_pages
// CHECK: scf.for %{{.*}} step %c1 {
// CHECK: scf.for %{{.*}} step %{{[0-9]+}} {
func.func @many_pages(%x0: memref<64x256x9xf32>, %x1: memref<64x256x9xf32>, %x2: memref<64x256x9xf32>, %x3: memref<64x256x9xf32>, %x4: memref<64x256x9xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %rows = arith.constant 64 : index
  %columns = arith.constant 256 : index
  scf.for %i = %c0 to %rows step %c1 {
    scf.for %j = %c0 to %columns step %c1 {
      %k = arith.addi %i, %c1 : index
      %m = arith.addi %j, %c1 : index
      %y = arith.remui %k, %rows : index
      %z = arith.remui %m, %columns : index
      %a0 = memref.load %x0[%y, %z, %c0] : memref<64x256x9xf32>
      %b0 = math.exp %a0 : f32
      memref.store %b0, %x0[%i, %j, %c3] : memref<64x256x9xf32>
      %a1 = memref.load %x1[%y, %z, %c0] : memref<64x256x9xf32>
      %b1 = math.exp %a1 : f32
      memref.store %b1, %x1[%i, %j, %c3] : memref<64x256x9xf32>
      %a2 = memref.load %x2[%y, %z, %c0] : memref<64x256x9xf32>
      %b2 = math.exp %a2 : f32
      memref.store %b2, %x2[%i, %j, %c3] : memref<64x256x9xf32>
      %a3 = memref.load %x3[%y, %z, %c0] : memref<64x256x9xf32>
      %b3 = math.exp %a3 : f32
      memref.store %b3, %x3[%i, %j, %c3] : memref<64x256x9xf32>
      %a4 = memref.load %x4[%y, %z, %c0] : memref<64x256x9xf32>
      %b4 = math.exp %a4 : f32
      memref.store %b4, %x4[%i, %j, %c3] : memref<64x256x9xf32>
    } {field.any_order}
  } {field.any_order}
  return
}

// What an iteration stores the next one loads: LLVM has no vectors along a row.
// CHECK-LABEL: func.func @smoothed
// CHECK: arith.mulf %{{.*}} : vector<16xf32>
func.func @smoothed(%x: memref<64x1024xf32>, %y: memref<64x1024xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 64 : index
  %columns = arith.constant 1024 : index
  %old = arith.constant 0.9 : f32
  scf.for %i = %c0 to %rows step %c1 {
    scf.for %k = %c1 to %columns step %c1 {
      %before = arith.subi %k, %c1 : index
      %u = memref.load %y[%i, %before] : memref<64x1024xf32>
      %v = memref.load %x[%i, %k] : memref<64x1024xf32>
      %a = arith.mulf %u, %old : f32
      %b = arith.addf %a, %v : f32
      %c = arith.mulf %b, %b : f32
      %d = arith.mulf %c, %c : f32
      memref.store %d, %y[%i, %k] : memref<64x1024xf32>
    }
  } {field.any_order}
  return
}

// Another step of a field over time is not what it stores: there are vectors along a row.
// CHECK-LABEL: func.func @steps
// CHECK-NOT: vector<
// CHECK: return
func.func @steps(%x: memref<64x1024xf32>, %y: memref<4x64x1024xf32>, %t: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 64 : index
  %columns = arith.constant 1024 : index
  %old = arith.constant 0.9 : f32
  %next = arith.addi %t, %c1 : index
  scf.for %i = %c0 to %rows step %c1 {
    scf.for %k = %c1 to %columns step %c1 {
      %before = arith.subi %k, %c1 : index
      %u = memref.load %y[%t, %i, %before] : memref<4x64x1024xf32>
      %v = memref.load %x[%i, %k] : memref<64x1024xf32>
      %a = arith.mulf %u, %old : f32
      %b = arith.addf %a, %v : f32
      %c = arith.mulf %b, %b : f32
      %d = arith.mulf %c, %c : f32
      memref.store %d, %y[%next, %i, %k] : memref<4x64x1024xf32>
    }
  } {field.any_order}
  return
}

// LLVM takes four vectors of a loop at once: of 126 iterations it would run 62 one by one, so lanes
// are better; of 128 it leaves none.
// CHECK-LABEL: func.func @odd_length
// CHECK: vector.store
// CHECK-LABEL: func.func @even_length
// CHECK-NOT: vector.store
// CHECK: return
func.func @odd_length(%x: memref<128xf32>, %y: memref<128xf32>) {
  %c1 = arith.constant 1 : index
  %c127 = arith.constant 127 : index
  scf.for %i = %c1 to %c127 step %c1 {
    %v = memref.load %x[%i] : memref<128xf32>
    %w = arith.mulf %v, %v : f32
    memref.store %w, %y[%i] : memref<128xf32>
  } {field.any_order}
  return
}

func.func @even_length(%x: memref<128xf32>, %y: memref<128xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  scf.for %i = %c0 to %c128 step %c1 {
    %v = memref.load %x[%i] : memref<128xf32>
    %w = arith.mulf %v, %v : f32
    memref.store %w, %y[%i] : memref<128xf32>
  } {field.any_order}
  return
}
