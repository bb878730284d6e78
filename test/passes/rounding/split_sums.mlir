// RUN: mlirad-opt %s --split-sums --canonicalize --cse | filecheck %s
// RUN: mlirad-opt %s --split-sums --canonicalize --cse --mlir-print-op-generic | mlirad-opt - | filecheck %s

// Trips that come in sixteens are vectors, the others go to their lanes one by one; the lanes are added in halves.
// CHECK-LABEL: func.func @of_neighbours
// CHECK: %[[LANES:.*]] = memref.alloca() : memref<16xf32>
// CHECK: scf.for {{.*}} iter_args(%[[V:.*]] = %{{.*}}) -> (vector<16xf32>)
// CHECK: %[[X:.*]] = vector.load %arg0[%[[K:.*]]] : memref<64xf32>, vector<16xf32>
// CHECK: %[[Y:.*]] = vector.load %arg1[%[[K]]] : memref<64xf32>, vector<16xf32>
// CHECK: %[[P:.*]] = arith.mulf %[[X]], %[[Y]] {field.fused} : vector<16xf32>
// CHECK: arith.addf %[[V]], %[[P]] {field.exact, field.lanes} : vector<16xf32>
// CHECK: vector.store %{{.*}}, %[[LANES]]
// CHECK-NEXT: scf.for
// CHECK: %[[LANE:.*]] = arith.remui
// CHECK: memref.load %[[LANES]][%[[LANE]]]
// CHECK: arith.addf
// CHECK-NEXT: memref.store %{{.*}}, %[[LANES]][%[[LANE]]]
// CHECK: vector.load %[[LANES]]
// CHECK: arith.addf {{.*}} {field.exact} : vector<8xf32>
// CHECK: arith.addf {{.*}} {field.exact} : vector<1xf32>
// CHECK: arith.cmpf
func.func @of_neighbours(%x: memref<64xf32>, %y: memref<64xf32>, %low: index, %high: index) -> i1 {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %s = scf.for %k = %low to %high step %c1 iter_args(%v = %zero) -> f32 {
    %a = memref.load %x[%k] : memref<64xf32>
    %b = memref.load %y[%k] : memref<64xf32>
    %p = arith.mulf %a, %b {field.fused} : f32
    %w = arith.addf %v, %p {field.exact, field.lanes} : f32
    scf.yield %w : f32
  }
  %c = arith.cmpf ogt, %s, %zero : f32
  return %c : i1
}

// What is not side by side is added in lanes too, one by one; another carried value stays as it is.
// CHECK-LABEL: func.func @of_others
// CHECK-NOT: vector.load %arg0
// CHECK: scf.for {{.*}} -> (f32)
// CHECK: arith.remui
// CHECK: return
func.func @of_others(%x: memref<64xf32>, %high: index) -> (f32, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %s:2 = scf.for %k = %c0 to %high step %c1 iter_args(%v = %zero, %u = %zero) -> (f32, f32) {
    %i = arith.muli %k, %c2 : index
    %a = memref.load %x[%i] : memref<64xf32>
    %w = arith.addf %v, %a {field.exact, field.lanes} : f32
    %t = arith.mulf %u, %a {field.exact} : f32
    scf.yield %w, %t : f32, f32
  }
  return %s#0, %s#1 : f32, f32
}

// Elementary functions of neighbouring elements are those of vectors; a power is C's.
// CHECK-LABEL: func.func @of_functions
// CHECK: scf.for {{.*}} -> (vector<16xf32>)
// CHECK: vector.load %arg0
// CHECK: math.exp %{{.*}} {field.exact} : vector<16xf32>
// CHECK: scf.for
// CHECK: math.exp %{{.*}} {field.exact} : f32
// CHECK-LABEL: func.func @of_powers
// CHECK-NOT: math.powf {{.*}} vector
// CHECK: return
func.func @of_functions(%x: memref<64xf32>, %high: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %s = scf.for %k = %c0 to %high step %c1 iter_args(%v = %zero) -> f32 {
    %a = memref.load %x[%k] : memref<64xf32>
    %e = math.exp %a {field.exact} : f32
    %w = arith.addf %v, %e {field.exact, field.lanes} : f32
    scf.yield %w : f32
  }
  return %s : f32
}
func.func @of_powers(%x: memref<64xf32>, %n: f32, %high: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %s = scf.for %k = %c0 to %high step %c1 iter_args(%v = %zero) -> f32 {
    %a = memref.load %x[%k] : memref<64xf32>
    %e = math.powf %a, %n {field.exact} : f32
    %w = arith.addf %v, %e {field.exact, field.lanes} : f32
    scf.yield %w : f32
  }
  return %s : f32
}
