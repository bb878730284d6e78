// RUN: mlirad-opt %s --insert-lanes="width=8" 2>&1 | filecheck %s
// RUN: mlirad-opt %s --insert-lanes="width=16" 2>&1 | filecheck %s --check-prefix=WIDE
// RUN: mlirad-opt %s --insert-lanes="width=8 always=true" 2>&1 | filecheck %s --check-prefix=GIVEN

// Two vectors of bodies at once: the sum of each waits for its root.
// CHECK-LABEL: func.func @near
// CHECK: math.sqrt %{{.*}} : vector<16xf32>
// WIDE-LABEL: func.func @near
// WIDE: math.sqrt %{{.*}} : vector<16xf32>
// GIVEN-LABEL: func.func @near
// GIVEN: math.sqrt %{{.*}} : vector<8xf32>
func.func @near(%x: memref<1024xf32>, %y: memref<1024xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %count = arith.constant 1024 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %count step %c1 {
    %a = memref.load %x[%i] : memref<1024xf32>
    %s = scf.for %j = %c0 to %count step %c1 iter_args(%sum = %zero) -> (f32) {
      %b = memref.load %x[%j] : memref<1024xf32>
      %d = arith.subf %a, %b : f32
      %q = arith.mulf %d, %d : f32
      %r = math.sqrt %q : f32
      %t = arith.addf %sum, %r {field.exact} : f32
      scf.yield %t : f32
    }
    memref.store %s, %y[%i] : memref<1024xf32>
  } {field.any_order}
  return
}

// 40 bodies would fill two and a half of them.
// CHECK-LABEL: func.func @few
// CHECK: math.sqrt %{{.*}} : vector<8xf32>
func.func @few(%x: memref<40xf32>, %y: memref<40xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %count = arith.constant 40 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %count step %c1 {
    %a = memref.load %x[%i] : memref<40xf32>
    %s = scf.for %j = %c0 to %count step %c1 iter_args(%sum = %zero) -> (f32) {
      %b = memref.load %x[%j] : memref<40xf32>
      %d = arith.subf %a, %b : f32
      %q = arith.mulf %d, %d : f32
      %r = math.sqrt %q : f32
      %t = arith.addf %sum, %r {field.exact} : f32
      scf.yield %t : f32
    }
    memref.store %s, %y[%i] : memref<40xf32>
  } {field.any_order}
  return
}

// Nothing waits: no loop within.
// CHECK-LABEL: func.func @apart
// CHECK-NOT: vector<16xf32>
// CHECK: return
func.func @apart(%x: memref<1024xf32>, %k: memref<1024xindex>, %y: memref<1024xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %count = arith.constant 1024 : index
  scf.for %i = %c0 to %count step %c1 {
    %at = memref.load %k[%i] : memref<1024xindex>
    %a = memref.load %x[%at] : memref<1024xf32>
    %b = math.sqrt %a : f32
    %c = math.sqrt %b : f32
    %d = math.sqrt %c : f32
    %e = math.sqrt %d : f32
    memref.store %e, %y[%i] : memref<1024xf32>
  } {field.any_order}
  return
}

// Lanes go different ways, and each has more numbers than two vectors have registers for.
// CHECK-LABEL: func.func @many
// CHECK: scf.while
// CHECK-NOT: vector<16xf32>
// CHECK: return
func.func @many(%x: memref<1024xf32>, %y: memref<1024xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %count = arith.constant 1024 : index
  %one = arith.constant 1.0 : f32
  scf.for %i = %c0 to %count step %c1 {
    %v = memref.load %x[%i] : memref<1024xf32>
    %r:8 = scf.while (%a = %v, %b = %v, %c = %v, %d = %v, %e = %v, %f = %v, %g = %v, %h = %v)
        : (f32, f32, f32, f32, f32, f32, f32, f32) -> (f32, f32, f32, f32, f32, f32, f32, f32) {
      %go = arith.cmpf olt, %a, %one : f32
      scf.condition(%go) %a, %b, %c, %d, %e, %f, %g, %h : f32, f32, f32, f32, f32, f32, f32, f32
    } do {
    ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %e: f32, %f: f32, %g: f32, %h: f32):
      %m = arith.addf %a, %v : f32
      %n = arith.mulf %b, %c : f32
      %o = arith.mulf %d, %e : f32
      %p = arith.mulf %f, %g : f32
      %q = arith.addf %h, %v : f32
      scf.yield %m, %n, %o, %p, %q, %c, %e, %g : f32, f32, f32, f32, f32, f32, f32, f32
    }
    memref.store %r#0, %y[%i] : memref<1024xf32>
  } {field.any_order}
  return
}
