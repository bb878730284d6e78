// RUN: mlirad-opt %s --scalarize-vectors --canonicalize | filecheck %s
// RUN: mlirad-opt %s --scalarize-vectors --scalarize-vectors --canonicalize | filecheck %s

// A public function takes memory for its vectors.
// CHECK-LABEL: func.func @public(
// CHECK-SAME: %[[X:.*]]: memref<2xf64> {field.vector_argument}, %[[S:.*]]: f64,
// CHECK-SAME: %[[R:.*]]: memref<2xf64> {field.vector_result = 1 : i64}) -> f64
// CHECK-DAG: %[[X0:.*]] = memref.load %[[X]][%c0]
// CHECK-DAG: %[[X1:.*]] = memref.load %[[X]][%c1]
// CHECK-DAG: %[[Y0:.*]] = arith.mulf %[[X0]], %[[S]]
// CHECK-DAG: %[[Y1:.*]] = arith.mulf %[[X1]], %[[S]]
// CHECK: memref.store %[[Y0]], %[[R]][%c0]
// CHECK: memref.store %[[Y1]], %[[R]][%c1]
// CHECK: return %[[S]]
func.func @public(%x: vector<2xf64>, %s: f64) -> (f64, vector<2xf64>) {
  %0 = vector.broadcast %s : f64 to vector<2xf64>
  %1 = arith.mulf %x, %0 : vector<2xf64>
  return %s, %1 : f64, vector<2xf64>
}

// A private one takes elements; attributes are those of each.
// CHECK-LABEL: func.func private @private(
// CHECK-SAME: %[[A:.*]]: f32, %[[X0:.*]]: f32 {llvm.noundef}, %[[X1:.*]]: f32 {llvm.noundef}) -> (f32, f32, f32)
// CHECK: return %[[A]], %[[X1]], %[[X0]]
func.func private @private(%a: f32, %x: vector<2xf32> {llvm.noundef}) -> (f32, vector<2xf32>) {
  %0 = vector.shuffle %x, %x [1, 0] : vector<2xf32>, vector<2xf32>
  return %a, %0 : f32, vector<2xf32>
}

// CHECK-LABEL: func.func @calls(
// CHECK: %[[R:.*]]:3 = call @private(%{{.*}}, %[[A:.*]], %[[A]]) : (f32, f32, f32) -> (f32, f32, f32)
// CHECK: arith.addf %[[R]]#1, %[[R]]#2
func.func @calls(%a: f32) -> f32 {
  %x = vector.broadcast %a : f32 to vector<2xf32>
  %0:2 = call @private(%a, %x) : (f32, vector<2xf32>) -> (f32, vector<2xf32>)
  %1 = vector.reduction <add>, %0#1 : vector<2xf32> into f32
  return %1 : f32
}

// A public function that is called has a copy that takes elements.
// CHECK-LABEL: func.func @calls_public(
// CHECK: call @public.scalars(%{{.*}}, %{{.*}}, %{{.*}}) : (f64, f64, f64) -> (f64, f64, f64)
func.func @calls_public(%x: vector<2xf64>, %s: f64) -> f64 {
  %0:2 = call @public(%x, %s) : (vector<2xf64>, f64) -> (f64, vector<2xf64>)
  %1 = vector.extract %0#1[0] : f64 from vector<2xf64>
  return %1 : f64
}

// What is not in the memory is not read.
// CHECK-LABEL: func.func @read(
// CHECK-SAME: %[[M:.*]]: memref<?xf32>, %[[I:.*]]: index, %[[P:.*]]: f32
// CHECK: %[[J:.*]] = arith.addi %[[I]], %c1
// CHECK: %[[D:.*]] = memref.dim %[[M]], %c0
// CHECK: %[[IN:.*]] = arith.cmpi ult, %[[J]], %[[D]] : index
// CHECK: scf.if %[[IN]] -> (f32) {
// CHECK-NEXT: memref.load %[[M]][%[[J]]]
// CHECK: } else {
// CHECK-NEXT: scf.yield %[[P]]
func.func @read(%m: memref<?xf32>, %i: index, %p: f32) -> f32 {
  %0 = vector.transfer_read %m[%i], %p : memref<?xf32>, vector<2xf32>
  %1 = vector.extract %0[1] : f32 from vector<2xf32>
  return %1 : f32
}

// What is known to be in the memory needs no test, and what is known not to be there no access.
// CHECK-LABEL: func.func @write(
// CHECK-SAME: %[[M:.*]]: memref<5xf32>, %[[S:.*]]: f32
// CHECK-NOT: scf.if
// CHECK: memref.store %[[S]], %[[M]][%c3]
// CHECK: memref.store %[[S]], %[[M]][%c4]
// CHECK-NOT: memref.store
// CHECK: return
func.func @write(%m: memref<5xf32>, %s: f32) {
  %i = arith.constant 3 : index
  %0 = vector.broadcast %s : f32 to vector<4xf32>
  vector.transfer_write %0, %m[%i] : vector<4xf32>, memref<5xf32>
  return
}

// CHECK-LABEL: func.func @masked(
// CHECK: scf.if %{{.*}} {
// CHECK-NEXT: memref.store
// CHECK: scf.if %{{.*}} {
// CHECK-NEXT: memref.store
func.func @masked(%m: memref<5xf32>, %k: vector<2xi1>, %s: f32, %i: index) {
  %0 = vector.broadcast %s : f32 to vector<2xf32>
  vector.maskedstore %m[%i], %k, %0 : memref<5xf32>, vector<2xi1>, vector<2xf32>
  return
}

// CHECK-LABEL: func.func @loop(
// CHECK: %[[R:.*]]:3 = scf.for %{{.*}} iter_args(%[[V0:.*]] = %{{.*}}, %[[V1:.*]] = %{{.*}}, %[[T:.*]] = %{{.*}}) -> (f32, f32, i32)
// CHECK-DAG: %[[W0:.*]] = math.sin %[[V0]]
// CHECK-DAG: %[[W1:.*]] = math.sin %[[V1]]
// CHECK: %[[Q:.*]] = arith.addi %[[T]], %{{.*}} : i32
// CHECK: scf.yield %[[W0]], %[[W1]], %[[Q]]
// CHECK: arith.mulf %[[R]]#0, %[[R]]#1
func.func @loop(%n: index, %x: vector<2xf32>, %t: i32) -> (f32, i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0:2 = scf.for %i = %c0 to %n step %c1 iter_args(%v = %x, %u = %t) -> (vector<2xf32>, i32) {
    %w = math.sin %v : vector<2xf32>
    %q = arith.addi %u, %t : i32
    scf.yield %w, %q : vector<2xf32>, i32
  }
  %1 = vector.reduction <mul>, %0#0 : vector<2xf32> into f32
  return %1, %0#1 : f32, i32
}

// CHECK-LABEL: func.func @products(
// CHECK-COUNT-8: arith.mulf
// CHECK-NOT: vector.contract
func.func @products(%a: vector<2x2xf32>, %b: vector<2x2xf32>, %c: vector<2x2xf32>) -> vector<2x2xf32> {
  %0 = vector.contract {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %a, %b, %c : vector<2x2xf32>, vector<2x2xf32> into vector<2x2xf32>
  return %0 : vector<2x2xf32>
}
