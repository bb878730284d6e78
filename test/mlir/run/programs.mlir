// RUN: mlirad-run %s --entry=square 3.0 --grad | filecheck %s --check-prefix=SQUARE
// RUN: mlirad-run %s --entry=newton random 8 --check --seed=1 | filecheck %s
// RUN: mlirad-run %s --entry=newton random 8 --check --arch=simt | filecheck %s
// RUN: mlirad-run %s --entry=wave arange ones 20 0.01 --check | filecheck %s
// RUN: mlirad-run %s --entry=blocks random random --check | filecheck %s
// RUN: mlirad-run %s --entry=steps arange:9xf64 --check | filecheck %s
// RUN: mlirad-run %s --entry=branches 0.7 --check | filecheck %s
// RUN: mlirad-run %s --entry=lanes random random --check | filecheck %s
// CHECK: all {{.*}} derivatives agree

// SQUARE: result 0 : float64
// SQUARE-NEXT: 9.
// SQUARE-NEXT: gradient 0 : float64
// SQUARE-NEXT: 6.
func.func @square(%x: f64) -> f64 {
  %y = arith.mulf %x, %x : f64
  return %y : f64
}

// A loop whose number of iterations is an argument, through a slot of memory, with a call.
func.func private @step(%x: f64, %a: f64) -> f64 {
  %half = arith.constant 0.5 : f64
  %q = arith.divf %a, %x : f64
  %s = arith.addf %x, %q : f64
  %r = arith.mulf %s, %half : f64
  return %r : f64
}
func.func @newton(%a: memref<4xf64>, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f64
  %one = arith.constant 1.0 : f64
  %two = arith.constant 2.0 : f64
  %slot = memref.alloca() : memref<f64>
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%sum = %zero) -> f64 {
    %v = memref.load %a[%i] : memref<4xf64>
    %p = arith.addf %v, %two : f64
    memref.store %one, %slot[] : memref<f64>
    scf.for %k = %c0 to %n step %c1 {
      %x = memref.load %slot[] : memref<f64>
      %y = func.call @step(%x, %p) : (f64, f64) -> f64
      memref.store %y, %slot[] : memref<f64>
    }
    %root = memref.load %slot[] : memref<f64>
    memref.store %root, %a[%i] : memref<4xf64>
    %t = arith.mulf %root, %v : f64
    %next = arith.addf %sum, %t : f64
    scf.yield %next : f64
  }
  return %r : f64
}

// A wave equation in place, by three buffers that rotate, as a C program has it.
func.func @wave(%u: memref<6xf64>, %force: memref<6xf64>, %n: index, %c: f64) {
  %before = memref.alloc() : memref<6xf64>
  %after = memref.alloc() : memref<6xf64>
  memref.copy %u, %before : memref<6xf64> to memref<6xf64>
  affine.for %t = 0 to 20 {
    affine.for %i = 1 to 5 {
      %l = affine.load %u[%i - 1] : memref<6xf64>
      %m = affine.load %u[%i] : memref<6xf64>
      %r = affine.load %u[%i + 1] : memref<6xf64>
      %o = affine.load %before[%i] : memref<6xf64>
      %f = affine.load %force[%i] : memref<6xf64>
      %s = arith.addf %l, %r : f64
      %mm = arith.addf %m, %m : f64
      %lap = arith.subf %s, %mm : f64
      %sq = arith.mulf %m, %m : f64
      %cube = arith.mulf %sq, %m : f64
      %k0 = arith.subf %lap, %cube : f64
      %k1 = arith.addf %k0, %f : f64
      %k = arith.mulf %k1, %c : f64
      %v0 = arith.subf %mm, %o : f64
      %v = arith.addf %v0, %k : f64
      affine.store %v, %after[%i] : memref<6xf64>
    }
    affine.for %i = 1 to 5 {
      %m = affine.load %u[%i] : memref<6xf64>
      affine.store %m, %before[%i] : memref<6xf64>
      %v = affine.load %after[%i] : memref<6xf64>
      affine.store %v, %u[%i] : memref<6xf64>
    }
  }
  memref.dealloc %before : memref<6xf64>
  memref.dealloc %after : memref<6xf64>
  return
}

// Views of one buffer: a box of another, written through each.
func.func @blocks(%a: memref<4x6xf64>, %b: memref<2x3xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f64
  %box = memref.subview %a[1, 2] [2, 3] [1, 1] : memref<4x6xf64> to memref<2x3xf64, strided<[6, 1], offset: 8>>
  %flat = memref.collapse_shape %a [[0, 1]] : memref<4x6xf64> into memref<24xf64>
  %r = scf.for %i = %c0 to %c2 step %c1 iter_args(%s = %zero) -> f64 {
    %q = scf.for %j = %c0 to %c3 step %c1 iter_args(%t = %s) -> f64 {
      %x = memref.load %box[%i, %j] : memref<2x3xf64, strided<[6, 1], offset: 8>>
      %y = memref.load %b[%i, %j] : memref<2x3xf64>
      %p = arith.mulf %x, %y : f64
      memref.store %p, %box[%i, %j] : memref<2x3xf64, strided<[6, 1], offset: 8>>
      %k0 = arith.muli %i, %c3 : index
      %k = arith.addi %k0, %j : index
      %z = memref.load %flat[%k] : memref<24xf64>
      %w = arith.mulf %p, %z : f64
      %n = arith.addf %t, %w : f64
      scf.yield %n : f64
    }
    scf.yield %q : f64
  }
  return %r : f64
}

// A while loop that ends by what it computes, and a value that is chosen.
func.func @steps(%a: memref<9xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %limit = arith.constant 15.5 : f64
  %r:2 = scf.while (%i = %c0, %s = %zero) : (index, f64) -> (index, f64) {
    %go = arith.cmpf olt, %s, %limit : f64
    scf.condition(%go) %i, %s : index, f64
  } do {
  ^bb0(%i: index, %s: f64):
    %v = memref.load %a[%i] : memref<9xf64>
    %w = arith.mulf %v, %v : f64
    %n = arith.addf %s, %w : f64
    memref.store %n, %a[%i] : memref<9xf64>
    %k = arith.addi %i, %c1 : index
    scf.yield %k, %n : index, f64
  }
  return %r#1 : f64
}

// Unstructured branches, which upstream lifts.
func.func @branches(%x: f64) -> f64 {
  %half = arith.constant 0.5 : f64
  %big = arith.cmpf ogt, %x, %half : f64
  cf.cond_br %big, ^large, ^small
^large:
  %s = math.sin %x : f64
  cf.br ^end(%s : f64)
^small:
  %e = math.exp %x : f64
  cf.br ^end(%e : f64)
^end(%r: f64):
  %p = arith.mulf %r, %x : f64
  return %p : f64
}

// Vectors, which become scalars: of 6 elements, the last two are padding.
func.func @lanes(%a: memref<6xf64>, %b: memref<8xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %half = arith.constant 0.5 : f64
  %x = vector.transfer_read %a[%c0], %half : memref<6xf64>, vector<8xf64>
  %y = vector.load %b[%c0] : memref<8xf64>, vector<8xf64>
  %p = vector.fma %x, %y, %x : vector<8xf64>
  %t = math.tanh %p : vector<8xf64>
  vector.store %t, %b[%c0] : memref<8xf64>, vector<8xf64>
  %s = vector.reduction <mul>, %t : vector<8xf64> into f64
  return %s : f64
}
