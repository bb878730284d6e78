// RUN: mlirad-opt %s --raise-memrefs-to-arrays --split-input-file --verify-diagnostics

func.func @carried(%a: memref<4xf32>, %b: memref<4xf32>, %c: i1) {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  // expected-error @+1 {{'scf.if' on a memref has no counterpart on arrays}}
  %m = scf.if %c -> memref<4xf32> {
    scf.yield %a : memref<4xf32>
  } else {
    scf.yield %b : memref<4xf32>
  }
  memref.store %z, %m[%c0] : memref<4xf32>
  return
}

// -----

func.func @chosen(%a: memref<4xf32>, %b: memref<4xf32>, %c: i1) {
  // expected-error @+1 {{'arith.select' on a memref has no counterpart on arrays}}
  %m = arith.select %c, %a, %b : memref<4xf32>
  return
}

// -----

func.func @size(%a: memref<4xindex>) {
  %c0 = arith.constant 0 : index
  %n = memref.load %a[%c0] : memref<4xindex>
  // expected-error @+1 {{an allocation whose size is not an affine function of extents and integers}}
  %m = memref.alloc(%n) : memref<?xf32>
  memref.dealloc %m : memref<?xf32>
  return
}

// -----

// expected-error @+1 {{a memref of 'bf16', expected one of f64, i64, f32, i32, f16, i16, i8, i1}}
func.func @elements(%a: memref<4xbf16>) {
  return
}

// -----

func.func @used(%a: memref<4xf32>, %v: f32) -> f32 {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{'memref.atomic_rmw' whose kind arrays have not, or whose result is used}}
  %r = memref.atomic_rmw addf %v, %a[%c0] : (f32, memref<4xf32>) -> f32
  return %r : f32
}

// -----

func.func @in_parallel(%a: memref<8xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    // expected-error @+1 {{an allocation in a parallel loop: iterations would share it}}
    %m = memref.alloca() : memref<2xf32>
    memref.store %v, %m[%c1] : memref<2xf32>
    %u = memref.load %m[%c1] : memref<2xf32>
    memref.store %u, %a[%i] : memref<8xf32>
    scf.reduce
  }
  return
}

// -----

// expected-error @below {{argument 0 is a 'memref<4xi32>' marked 'field.needs_grad', expected floats}}
func.func @gradient_of_integers(%x: memref<4xi32> {field.needs_grad}) {
  return
}

// -----

module {
  // expected-error @below {{a module within a module, expected functions side by side}}
  module {
    func.func @inside(%x: memref<4xf64>) {
      return
    }
  }
}

// -----

func.func @no_such_axis(%x: memref<4xf64>) -> index {
  %c = arith.constant -1 : index
  // expected-error @+1 {{axis -1 of a memref of 1 axes}}
  %n = memref.dim %x, %c : memref<4xf64>
  return %n : index
}
