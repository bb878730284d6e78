// RUN: mlirad-opt %s --reuse-loop-values --canonicalize --cse | filecheck %s
// RUN: mlirad-opt %s --reuse-loop-values --reuse-loop-values --canonicalize --cse | filecheck %s

snode.root @S0 {
  snode.dense [8, 32] {
    snode.place @x : f32
    snode.place @y : f32
  }
}

// The second loop loads the exponentials of the first, which are exact because it needs them so.
// CHECK-LABEL: func.func @row
// CHECK: scf.parallel (%[[I:.*]]) =
// CHECK: %[[ROW:.*]] = memref.alloca() : memref<32xf32>
// CHECK: scf.for %[[J:[a-z0-9]+]] =
// CHECK: arith.subf {{.*}} {field.exact}
// CHECK: %[[E:.*]] = math.exp {{.*}} {field.exact}
// CHECK: memref.store %[[E]], %[[ROW]][%[[J]]]
// CHECK: scf.for %[[K:[a-z0-9]+]] =
// CHECK-NEXT: %[[V:.*]] = memref.load %[[ROW]][%[[K]]]
// CHECK-NEXT: arith.divf %[[V]],
// CHECK-NOT: math.exp
func.func @row() {
  %x = field.get @x : !field.array<f32, [8, 32]>
  %y = field.get @y : !field.array<f32, [8, 32]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    %m = field.load %x[%i, %c0] : f32
    %t = scf.for %j = %c0 to %c32 step %c1 iter_args(%s = %zero) -> (f32) {
      %v = field.load %x[%i, %j] : f32
      %d = arith.subf %v, %m {field.loose} : f32
      %e = math.exp %d {field.loose} : f32
      %n = arith.addf %s, %e {field.loose} : f32
      scf.yield %n : f32
    }
    scf.for %j = %c0 to %c32 step %c1 {
      %v = field.load %x[%i, %j] : f32
      %d = arith.subf %v, %m {field.exact} : f32
      %e = math.exp %d {field.exact} : f32
      %q = arith.divf %e, %t {field.exact} : f32
      field.store %q, %y[%i, %j]
    }
    scf.reduce
  }
  return
}

// Other bounds, another row, a written row, a column, and what a loop carries, are not the same.
// CHECK-LABEL: func.func @others
// CHECK-NOT: memref.alloca
// CHECK: return
func.func @others() {
  %x = field.get @x : !field.array<f32, [8, 32]>
  %y = field.get @y : !field.array<f32, [8, 32]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  %c31 = arith.constant 31 : index
  %c32 = arith.constant 32 : index
  %half = arith.constant 0.5 : f32
  scf.parallel (%i) = (%c0) to (%c7) step (%c1) {
    %above = arith.addi %i, %c1 : index
    scf.for %j = %c0 to %c32 step %c1 {
      %v = field.load %x[%i, %j] : f32
      %e = math.sin %v {field.exact} : f32
      field.store %e, %y[%i, %j]
    }
    scf.for %j = %c0 to %c31 step %c1 {
      %v = field.load %x[%i, %j] : f32
      %e = math.sin %v {field.exact} : f32
      field.store %e, %y[%i, %j]
    }
    scf.for %j = %c0 to %c32 step %c1 {
      %v = field.load %x[%above, %j] : f32
      %e = math.sin %v {field.exact} : f32
      field.store %e, %y[%i, %j]
    }
    scf.for %j = %c0 to %c32 step %c1 {
      %v = field.load %y[%i, %j] : f32
      %e = math.cos %v {field.exact} : f32
      field.store %e, %y[%i, %j]
    }
    scf.for %j = %c0 to %c32 step %c1 {
      %v = field.load %y[%i, %j] : f32
      %e = math.cos %v {field.exact} : f32
      field.store %e, %y[%i, %j]
    }
    %a = scf.for %j = %c0 to %c32 step %c1 iter_args(%s = %half) -> (f32) {
      %e = math.exp %s {field.exact} : f32
      scf.yield %e : f32
    }
    %b = scf.for %j = %c0 to %c32 step %c1 iter_args(%s = %a) -> (f32) {
      %e = math.exp %s {field.exact} : f32
      scf.yield %e : f32
    }
    field.store %b, %y[%i, %c0]
    scf.reduce
  }
  scf.parallel (%j) = (%c0) to (%c32) step (%c1) {
    scf.for %i = %c0 to %c8 step %c1 {
      %v = field.load %x[%i, %j] : f32
      %e = math.exp %v {field.exact} : f32
      field.store %e, %y[%i, %j]
    }
    scf.for %i = %c0 to %c8 step %c1 {
      %v = field.load %x[%i, %j] : f32
      %e = math.exp %v {field.exact} : f32
      field.store %e, %y[%i, %j]
    }
    scf.reduce
  }
  return
}

// A write to the row between the loops, or a call, may change it.
// CHECK-LABEL: func.func @written_between
// CHECK-NOT: memref.alloca
// CHECK: return
func.func @written_between() {
  %x = field.get @x : !field.array<f32, [8, 32]>
  %y = field.get @y : !field.array<f32, [8, 32]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %half = arith.constant 0.5 : f32
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    scf.for %j = %c0 to %c32 step %c1 {
      %v = field.load %x[%i, %j] : f32
      %e = math.exp %v {field.exact} : f32
      field.store %e, %y[%i, %j]
    }
    field.store %half, %x[%i, %c1]
    scf.for %j = %c0 to %c32 step %c1 {
      %v = field.load %x[%i, %j] : f32
      %e = math.exp %v {field.exact} : f32
      field.store %e, %y[%i, %j]
    }
    scf.reduce
  }
  return
}

// Arguments may be the same array.
// CHECK-LABEL: func.func @arguments
// CHECK-NOT: memref.alloca
// CHECK: return
func.func @arguments(%x: !field.array<f32, [32]>, %y: !field.array<f32, [32]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  scf.for %j = %c0 to %c32 step %c1 {
    %v = field.load %x[%j] : f32
    %e = math.exp %v {field.exact} : f32
    field.store %e, %y[%j]
  }
  scf.for %j = %c0 to %c32 step %c1 {
    %v = field.load %x[%j] : f32
    %e = math.exp %v {field.exact} : f32
    field.store %e, %y[%j]
  }
  return
}

// Buffers of a block are 16 KiB together: the second row of 12 KiB is computed again.
// CHECK-LABEL: func.func @room
// CHECK: memref.alloca() : memref<3000xf32>
// CHECK-NOT: memref.alloca
// CHECK: return
func.func @room(%x: !field.array<f32, [2, 3000]>) -> (f32, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3000 = arith.constant 3000 : index
  %zero = arith.constant 0.0 : f32
  %a:2 = scf.for %j = %c0 to %c3000 step %c1 iter_args(%s = %zero, %t = %zero) -> (f32, f32) {
    %v = field.load %x[%c0, %j] : f32
    %w = field.load %x[%c1, %j] : f32
    %e = math.exp %v {field.exact} : f32
    %f = math.log %w {field.exact} : f32
    %n = arith.addf %s, %e {field.exact} : f32
    %m = arith.addf %t, %f {field.exact} : f32
    scf.yield %n, %m : f32, f32
  }
  %b:2 = scf.for %j = %c0 to %c3000 step %c1 iter_args(%s = %a#1, %t = %a#0) -> (f32, f32) {
    %v = field.load %x[%c0, %j] : f32
    %w = field.load %x[%c1, %j] : f32
    %e = math.exp %v {field.exact} : f32
    %f = math.log %w {field.exact} : f32
    %n = arith.addf %s, %e {field.exact} : f32
    %m = arith.addf %t, %f {field.exact} : f32
    scf.yield %n, %m : f32, f32
  }
  return %b#0, %b#1 : f32, f32
}

// What a value is made of becomes exact once, however often it is used.
// CHECK-LABEL: func.func @chain
// CHECK: memref.alloca() : memref<32xf32>
// CHECK-NOT: field.loose
// CHECK: return
func.func @chain(%x: !field.array<f32, [32]>) -> (f32, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  %a = scf.for %j = %c0 to %c32 step %c1 iter_args(%s = %zero) -> (f32) {
    %m0 = field.load %x[%j] : f32
    %m1 = arith.mulf %m0, %m0 {field.loose} : f32
    %m2 = arith.mulf %m1, %m1 {field.loose} : f32
    %m3 = arith.mulf %m2, %m2 {field.loose} : f32
    %m4 = arith.mulf %m3, %m3 {field.loose} : f32
    %m5 = arith.mulf %m4, %m4 {field.loose} : f32
    %m6 = arith.mulf %m5, %m5 {field.loose} : f32
    %m7 = arith.mulf %m6, %m6 {field.loose} : f32
    %m8 = arith.mulf %m7, %m7 {field.loose} : f32
    %m9 = arith.mulf %m8, %m8 {field.loose} : f32
    %m10 = arith.mulf %m9, %m9 {field.loose} : f32
    %m11 = arith.mulf %m10, %m10 {field.loose} : f32
    %m12 = arith.mulf %m11, %m11 {field.loose} : f32
    %m13 = arith.mulf %m12, %m12 {field.loose} : f32
    %m14 = arith.mulf %m13, %m13 {field.loose} : f32
    %m15 = arith.mulf %m14, %m14 {field.loose} : f32
    %m16 = arith.mulf %m15, %m15 {field.loose} : f32
    %m17 = arith.mulf %m16, %m16 {field.loose} : f32
    %m18 = arith.mulf %m17, %m17 {field.loose} : f32
    %m19 = arith.mulf %m18, %m18 {field.loose} : f32
    %m20 = arith.mulf %m19, %m19 {field.loose} : f32
    %m21 = arith.mulf %m20, %m20 {field.loose} : f32
    %m22 = arith.mulf %m21, %m21 {field.loose} : f32
    %m23 = arith.mulf %m22, %m22 {field.loose} : f32
    %m24 = arith.mulf %m23, %m23 {field.loose} : f32
    %m25 = arith.mulf %m24, %m24 {field.loose} : f32
    %m26 = arith.mulf %m25, %m25 {field.loose} : f32
    %m27 = arith.mulf %m26, %m26 {field.loose} : f32
    %m28 = arith.mulf %m27, %m27 {field.loose} : f32
    %m29 = arith.mulf %m28, %m28 {field.loose} : f32
    %m30 = arith.mulf %m29, %m29 {field.loose} : f32
    %m31 = arith.mulf %m30, %m30 {field.loose} : f32
    %m32 = arith.mulf %m31, %m31 {field.loose} : f32
    %m33 = arith.mulf %m32, %m32 {field.loose} : f32
    %m34 = arith.mulf %m33, %m33 {field.loose} : f32
    %m35 = arith.mulf %m34, %m34 {field.loose} : f32
    %m36 = arith.mulf %m35, %m35 {field.loose} : f32
    %m37 = arith.mulf %m36, %m36 {field.loose} : f32
    %m38 = arith.mulf %m37, %m37 {field.loose} : f32
    %m39 = arith.mulf %m38, %m38 {field.loose} : f32
    %m40 = arith.mulf %m39, %m39 {field.loose} : f32
    %e = math.exp %m40 {field.loose} : f32
    %n = arith.maximumf %s, %e {field.exact} : f32
    scf.yield %n : f32
  }
  %b = scf.for %j = %c0 to %c32 step %c1 iter_args(%s = %zero) -> (f32) {
    %m0 = field.load %x[%j] : f32
    %m1 = arith.mulf %m0, %m0 {field.exact} : f32
    %m2 = arith.mulf %m1, %m1 {field.exact} : f32
    %m3 = arith.mulf %m2, %m2 {field.exact} : f32
    %m4 = arith.mulf %m3, %m3 {field.exact} : f32
    %m5 = arith.mulf %m4, %m4 {field.exact} : f32
    %m6 = arith.mulf %m5, %m5 {field.exact} : f32
    %m7 = arith.mulf %m6, %m6 {field.exact} : f32
    %m8 = arith.mulf %m7, %m7 {field.exact} : f32
    %m9 = arith.mulf %m8, %m8 {field.exact} : f32
    %m10 = arith.mulf %m9, %m9 {field.exact} : f32
    %m11 = arith.mulf %m10, %m10 {field.exact} : f32
    %m12 = arith.mulf %m11, %m11 {field.exact} : f32
    %m13 = arith.mulf %m12, %m12 {field.exact} : f32
    %m14 = arith.mulf %m13, %m13 {field.exact} : f32
    %m15 = arith.mulf %m14, %m14 {field.exact} : f32
    %m16 = arith.mulf %m15, %m15 {field.exact} : f32
    %m17 = arith.mulf %m16, %m16 {field.exact} : f32
    %m18 = arith.mulf %m17, %m17 {field.exact} : f32
    %m19 = arith.mulf %m18, %m18 {field.exact} : f32
    %m20 = arith.mulf %m19, %m19 {field.exact} : f32
    %m21 = arith.mulf %m20, %m20 {field.exact} : f32
    %m22 = arith.mulf %m21, %m21 {field.exact} : f32
    %m23 = arith.mulf %m22, %m22 {field.exact} : f32
    %m24 = arith.mulf %m23, %m23 {field.exact} : f32
    %m25 = arith.mulf %m24, %m24 {field.exact} : f32
    %m26 = arith.mulf %m25, %m25 {field.exact} : f32
    %m27 = arith.mulf %m26, %m26 {field.exact} : f32
    %m28 = arith.mulf %m27, %m27 {field.exact} : f32
    %m29 = arith.mulf %m28, %m28 {field.exact} : f32
    %m30 = arith.mulf %m29, %m29 {field.exact} : f32
    %m31 = arith.mulf %m30, %m30 {field.exact} : f32
    %m32 = arith.mulf %m31, %m31 {field.exact} : f32
    %m33 = arith.mulf %m32, %m32 {field.exact} : f32
    %m34 = arith.mulf %m33, %m33 {field.exact} : f32
    %m35 = arith.mulf %m34, %m34 {field.exact} : f32
    %m36 = arith.mulf %m35, %m35 {field.exact} : f32
    %m37 = arith.mulf %m36, %m36 {field.exact} : f32
    %m38 = arith.mulf %m37, %m37 {field.exact} : f32
    %m39 = arith.mulf %m38, %m38 {field.exact} : f32
    %m40 = arith.mulf %m39, %m39 {field.exact} : f32
    %e = math.exp %m40 {field.exact} : f32
    %n = arith.addf %s, %e {field.exact} : f32
    scf.yield %n : f32
  }
  return %a, %b : f32, f32
}

// An array of one element has no rows: nothing is shared.
// CHECK-LABEL: func.func @one_element
// CHECK-NOT: memref.alloca
// CHECK: return
func.func @one_element(%x: !field.array<f32, []>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  scf.for %j = %c0 to %c32 step %c1 {
    %v = field.load %x[] : f32
    %e = math.exp %v {field.exact} : f32
    field.store %e, %x[]
  }
  scf.for %j = %c0 to %c32 step %c1 {
    %v = field.load %x[] : f32
    %e = math.exp %v {field.exact} : f32
    field.store %e, %x[]
  }
  return
}
