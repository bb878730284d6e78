// RUN: mlirad-opt %s --hoist-factors | filecheck %s

// CHECK-LABEL: func.func @of_a_product
// CHECK: %[[S:.*]] = scf.for {{.*}} iter_args(%[[A:.*]] = %[[Z:.*]]) -> (f32) {
// CHECK-NEXT: %[[X:.*]] = memref.load
// CHECK-NEXT: %[[N:.*]] = arith.addf %[[A]], %[[X]] {field.loose}
// CHECK-NEXT: scf.yield %[[N]]
// CHECK: %[[P:.*]] = arith.mulf %[[S]], %arg1 {field.loose}
// CHECK-NEXT: %[[T:.*]] = arith.addf %arg2, %[[P]] {field.loose}
// CHECK-NEXT: return %[[T]]
func.func @of_a_product(%x: memref<9xf32>, %c: f32, %s: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %r = scf.for %j = %c0 to %c9 step %c1 iter_args(%a = %s) -> (f32) {
    %v = memref.load %x[%j] : memref<9xf32>
    %p = arith.mulf %c, %v {field.loose} : f32
    %n = arith.addf %a, %p {field.loose} : f32
    scf.yield %n : f32
  }
  return %r : f32
}

// A factor of what two sums share; the loop may not run.
// CHECK-LABEL: func.func @of_what_is_shared
// CHECK: scf.for
// CHECK-NEXT: %[[X:.*]] = memref.load
// CHECK-NEXT: %[[D:.*]] = arith.divf %[[X]], %arg2
// CHECK-NEXT: %[[Q:.*]] = arith.mulf %[[D]], %[[X]]
// CHECK-NEXT: arith.addf %{{.*}}, %[[Q]]
// CHECK-NEXT: arith.subf %{{.*}}, %[[D]]
// CHECK-NEXT: scf.yield
// CHECK-COUNT-2: arith.select
// CHECK: return
func.func @of_what_is_shared(%x: memref<?xf32>, %c: f32, %d: f32, %n: index) -> (f32, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0.0 : f32
  %r:2 = scf.for %j = %c0 to %n step %c1 iter_args(%a = %z, %b = %z) -> (f32, f32) {
    %v = memref.load %x[%j] : memref<?xf32>
    %p = arith.mulf %v, %c {field.derivative} : f32
    %q = arith.divf %p, %d {field.derivative} : f32
    %w = arith.mulf %q, %v {field.derivative} : f32
    %s = arith.addf %a, %w {field.derivative} : f32
    %t = arith.subf %b, %q {field.derivative} : f32
    scf.yield %s, %t : f32, f32
  }
  return %r#0, %r#1 : f32, f32
}

// Exact sums, terms that something else uses, and sums that are read within the loop stay.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-3: scf.for
// CHECK: return
// CHECK-NOT: arith.mulf
func.func @others(%x: memref<9xf32>, %c: f32, %s: f32) -> (f32, f32, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %e = scf.for %j = %c0 to %c9 step %c1 iter_args(%a = %s) -> (f32) {
    %v = memref.load %x[%j] : memref<9xf32>
    %p = arith.mulf %c, %v {field.loose} : f32
    %n = arith.addf %a, %p {field.exact} : f32
    scf.yield %n : f32
  }
  %u = scf.for %j = %c0 to %c9 step %c1 iter_args(%a = %s) -> (f32) {
    %v = memref.load %x[%j] : memref<9xf32>
    %p = arith.mulf %c, %v {field.derivative} : f32
    memref.store %p, %x[%j] : memref<9xf32>
    %n = arith.addf %a, %p {field.derivative} : f32
    scf.yield %n : f32
  }
  %w = scf.for %j = %c0 to %c9 step %c1 iter_args(%a = %s) -> (f32) {
    %v = memref.load %x[%j] : memref<9xf32>
    %p = arith.mulf %c, %v {field.derivative} : f32
    %n = arith.addf %a, %p {field.derivative} : f32
    memref.store %n, %x[%j] : memref<9xf32>
    scf.yield %n : f32
  }
  return %e, %u, %w : f32, f32, f32
}
