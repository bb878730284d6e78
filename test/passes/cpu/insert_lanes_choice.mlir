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
