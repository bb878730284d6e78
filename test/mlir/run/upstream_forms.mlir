// RUN: mlirad-run %s --entry=on_tensors random random --check | filecheck %s
// RUN: mlirad-run %s --entry=other_shape random --check | filecheck %s
// RUN: mlirad-run %s --entry=update random 0.7 --check | filecheck %s
// RUN: mlirad-run %s --entry=memory_of_an_iteration random ones --check | filecheck %s
// RUN: mlirad-run %s --entry=product random random --check | filecheck %s
// RUN: mlirad-run %s --entry=clamp random --check | filecheck %s
// RUN: mlirad-run %s --entry=recursive 2 0.5 --check | filecheck %s
// RUN: mlirad-run %s --entry=bits -0.5 | filecheck %s --check-prefix=BITS
// RUN: not mlirad-run %s --entry=bits -0.5 --grad 2>&1 | filecheck %s --check-prefix=NO-RULE
// CHECK: all {{.*}} derivatives agree
// BITS: 0.5
// NO-RULE: upstream_forms.mlir:{{[0-9]+}}:8: no derivative rule for 'arith.bitcast'

// Arithmetic on tensors, without linalg.
func.func @on_tensors(%a: tensor<4xf64>, %b: tensor<4xf64>) -> tensor<4xf64> {
  %r = arith.mulf %a, %b : tensor<4xf64>
  %s = math.sin %r : tensor<4xf64>
  return %s : tensor<4xf64>
}

func.func @other_shape(%a: tensor<4x6xf64>) -> tensor<8x3xf64> {
  %shape = arith.constant dense<[8, 3]> : tensor<2xi64>
  %s = math.exp %a : tensor<4x6xf64>
  %r = tensor.reshape %s(%shape) : (tensor<4x6xf64>, tensor<2xi64>) -> tensor<8x3xf64>
  return %r : tensor<8x3xf64>
}

// An update that is a region, in a parallel loop whose iterations meet.
func.func @update(%a: memref<6xf64>, %x: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c6 = arith.constant 6 : index
  %b = memref.assume_alignment %a, 8 : memref<6xf64>
  scf.parallel (%i) = (%c0) to (%c6) step (%c1) {
    %k = arith.divui %i, %c2 : index
    %r = memref.generic_atomic_rmw %b[%k] : memref<6xf64> {
    ^bb0(%o: f64):
      %s = arith.mulf %o, %x : f64
      %t = math.sin %s : f64
      memref.atomic_yield %t : f64
    }
    scf.reduce
  }
  memref.prefetch %a[%c0], read, locality<3>, data : memref<6xf64>
  %v = memref.load %a[%c1] : memref<6xf64>
  return %v : f64
}

func.func @clamp(%a: tensor<4xf64>) -> tensor<4xf64> {
  %e = tensor.empty() : tensor<4xf64>
  %low = arith.constant -0.5 : f64
  %high = arith.constant 0.5 : f64
  %r = linalg.map ins(%a : tensor<4xf64>) outs(%e : tensor<4xf64>) (%x: f64, %o: f64) {
    %c = math.clampf %x to [%low, %high] : f64
    %s = arith.mulf %c, %x : f64
    linalg.yield %s : f64
  }
  return %r : tensor<4xf64>
}

func.func @recursive(%n: index, %x: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.cmpi eq, %n, %c0 : index
  %r = scf.if %z -> f64 {
    scf.yield %x : f64
  } else {
    %m = arith.subi %n, %c1 : index
    %s = math.sin %x : f64
    %q = func.call @recursive(%m, %s) : (index, f64) -> f64
    scf.yield %q : f64
  }
  return %r : f64
}

// Memory of each iteration of a parallel loop.
func.func @memory_of_an_iteration(%a: memref<5x2xf64>, %b: memref<5x2xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c5 = arith.constant 5 : index
  scf.parallel (%i) = (%c0) to (%c5) step (%c1) {
    %m = memref.alloca() : memref<1x2xf64>
    scf.for %j = %c0 to %c2 step %c1 {
      %v = memref.load %a[%i, %j] : memref<5x2xf64>
      %s = math.sin %v : f64
      memref.store %s, %m[%c0, %j] : memref<1x2xf64>
    }
    scf.for %j = %c0 to %c2 step %c1 {
      %v = memref.load %m[%c0, %j] : memref<1x2xf64>
      memref.store %v, %b[%i, %j] : memref<5x2xf64>
    }
    scf.reduce
  }
  return
}

// Bits that become a float again: it runs, and has no derivative.
func.func @bits(%x: f64) -> f64 {
  %mask = arith.constant 0x7fffffffffffffff : i64
  %i = arith.bitcast %x : f64 to i64
  %j = arith.andi %i, %mask : i64
  %r = arith.bitcast %j : i64 to f64
  return %r : f64
}

// Iterations that change one element: in an order, each restores what it found.
func.func @product(%a: memref<6xf64>, %x: memref<4xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.parallel (%i) = (%c0) to (%c4) step (%c1) {
    %v = memref.load %x[%i] : memref<4xf64>
    %r = memref.atomic_rmw mulf %v, %a[%c1] : (f64, memref<6xf64>) -> f64
    scf.reduce
  }
  return
}
