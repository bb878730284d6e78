// RUN: mlirad-opt %s --tile-contractions='least=1 width=16' --canonicalize --cse | filecheck %s
// RUN: mlirad-opt %s --tile-contractions='least=1 width=16' --tile-contractions='least=1 width=16' --canonicalize --cse | filecheck %s

// Lanes along the columns of what is made; the other factor is spread over them. What is left of the columns is masked.
// CHECK-LABEL: func.func @columns(
// CHECK: scf.for %[[I:.*]] = %c0 to %c10 step %c5 {
// CHECK: vector.load %arg2[%[[I]], %c0] : memref<10x11xf32>, vector<4xf32>
// CHECK: scf.for %[[K:.*]] = %c0 to %c40 step %c1 iter_args(
// CHECK: %[[B:.*]] = vector.load %arg1[%[[K]], %c0]
// CHECK: %[[A:.*]] = memref.load %arg0[%[[I]], %[[K]]]
// CHECK: %[[V:.*]] = vector.broadcast %[[A]]
// CHECK: math.fma %[[V]], %[[B]], %{{.*}} : vector<4xf32>
// CHECK: scf.yield
// CHECK: vector.store %{{.*}}, %arg2[%[[I]], %c0]
// CHECK: %[[MASK:.*]] = vector.constant_mask [3] : vector<4xi1>
// CHECK: vector.maskedload %arg2[%{{.*}}, %c8], %[[MASK]]
// CHECK: vector.maskedstore %arg2[%{{.*}}, %c8], %[[MASK]]
// CHECK-NOT: arith.mulf
func.func @columns(%a: memref<10x40xf32> {llvm.noalias}, %b: memref<40x11xf32> {llvm.noalias}, %c: memref<10x11xf32> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %c11 = arith.constant 11 : index
  %c40 = arith.constant 40 : index
  scf.for %i = %c0 to %c10 step %c1 {
    scf.for %j = %c0 to %c11 step %c1 {
      scf.for %k = %c0 to %c40 step %c1 {
        %x = memref.load %a[%i, %k] : memref<10x40xf32>
        %y = memref.load %b[%k, %j] : memref<40x11xf32>
        %p = arith.mulf %x, %y {field.derivative} : f32
        %o = memref.load %c[%i, %j] : memref<10x11xf32>
        %s = arith.addf %o, %p {field.derivative} : f32
        memref.store %s, %c[%i, %j] : memref<10x11xf32>
      }
    }
  }
  return
}

// Lanes along the sum where what is made has no neighbours: added across behind the loop. Trips that are not known are
// made in whole tiles, and one by one.
// CHECK-LABEL: func.func @dots(
// CHECK: scf.for %{{.*}} = %c0 to %{{.*}} step %c4 {
// CHECK: scf.for %[[K:.*]] = %c0 to %c96 step %c4 iter_args(
// CHECK: vector.load %arg0[%{{.*}}, %[[K]]]
// CHECK: vector.load %arg1[%{{.*}}, %[[K]]]
// CHECK: scf.yield
// CHECK: vector.reduction <add>, %{{.*}} fastmath<reassoc> : vector<4xf32> into f32
// CHECK: arith.subf
// CHECK: scf.for %{{.*}} = %{{.*}} to %arg3 step %c1 {
func.func @dots(%a: memref<?x99xf32> {llvm.noalias}, %b: memref<3x99xf32> {llvm.noalias}, %c: memref<?x3x2xf32> {llvm.noalias}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c99 = arith.constant 99 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %c3 step %c1 {
      scf.for %k = %c0 to %c99 step %c1 {
        %x = memref.load %a[%i, %k] : memref<?x99xf32>
        %y = memref.load %b[%j, %k] : memref<3x99xf32>
        %p = arith.mulf %x, %y {field.derivative} : f32
        %o = memref.load %c[%i, %j, %c1] : memref<?x3x2xf32>
        %s = arith.subf %o, %p {field.derivative} : f32
        memref.store %s, %c[%i, %j, %c1] : memref<?x3x2xf32>
      }
    }
  }
  return
}

// A factor whose columns are no neighbours is copied for all rows.
// CHECK-LABEL: func.func @copied(
// CHECK: %[[PANEL:.*]] = memref.alloc() {alignment = 64 : i64} : memref<5x8xf32>
// CHECK: %[[B:.*]] = memref.load %arg1[%[[J:.*]], %[[K:.*]]]
// CHECK-NEXT: memref.store %[[B]], %[[PANEL]][%[[K]], %[[J]]]
// CHECK: vector.load %[[PANEL]]
// CHECK: memref.dealloc %[[PANEL]]
func.func @copied(%a: memref<64x5xf32> {llvm.noalias}, %b: memref<8x5xf32> {llvm.noalias}, %c: memref<64x8xf32> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c64 step %c1 {
    scf.for %j = %c0 to %c8 step %c1 {
      scf.for %k = %c0 to %c5 step %c1 {
        %x = memref.load %a[%i, %k] : memref<64x5xf32>
        %y = memref.load %b[%j, %k] : memref<8x5xf32>
        %p = arith.mulf %x, %y {field.derivative} : f32
        %o = memref.load %c[%i, %j] : memref<64x8xf32>
        %s = arith.addf %o, %p {field.derivative} : f32
        memref.store %s, %c[%i, %j] : memref<64x8xf32>
      }
    }
  }
  return
}

// A factor whose rows are neighbours, and whose trips lie far apart, is copied as tiles read it, block by block.
// CHECK-LABEL: func.func @near_rows(
// CHECK: %[[PANEL:.*]] = memref.alloc() {alignment = 64 : i64} : memref<64x8xf32>
// CHECK: %[[ROWS:.*]] = memref.alloc() {alignment = 64 : i64} : memref<65280xf32>
// CHECK: scf.for %[[BLOCK:.*]] = %c0 to %c1200
// CHECK: scf.for %[[K:.*]] = %c0 to %c64
// CHECK: scf.for %[[I:.*]] = %[[BLOCK]]
// CHECK: %[[V:.*]] = vector.load %arg0[%[[K]], %[[I]]] : memref<64x1200xf32>, vector<6xf32>
// CHECK: vector.store %[[V]], %[[ROWS]]
// CHECK: vector.load %arg1
// CHECK: vector.load %[[PANEL]]
// CHECK: memref.load %[[ROWS]]
// CHECK: math.fma
// CHECK: memref.dealloc %[[PANEL]]
// CHECK: memref.dealloc %[[ROWS]]
func.func @near_rows(%a: memref<64x1200xf32> {llvm.noalias}, %b: memref<64x1200xf32> {llvm.noalias}, %c: memref<1200x1200xf32> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c1200 = arith.constant 1200 : index
  scf.for %i = %c0 to %c1200 step %c1 {
    scf.for %j = %c0 to %c1200 step %c1 {
      scf.for %k = %c0 to %c64 step %c1 {
        %x = memref.load %a[%k, %i] : memref<64x1200xf32>
        %y = memref.load %b[%k, %j] : memref<64x1200xf32>
        %p = arith.mulf %x, %y {field.derivative} : f32
        %o = memref.load %c[%i, %j] : memref<1200x1200xf32>
        %s = arith.addf %o, %p {field.derivative} : f32
        memref.store %s, %c[%i, %j] : memref<1200x1200xf32>
      }
    }
  }
  return
}

// Few columns do not pay for that.
// CHECK-LABEL: func.func @near_rows_of_few_columns(
// CHECK: memref.alloc() {{.*}} : memref<64x8xf32>
// CHECK-NOT: memref.alloc
// CHECK: memref.load %arg0
// CHECK: return
func.func @near_rows_of_few_columns(%a: memref<64x1200xf32> {llvm.noalias}, %b: memref<64x1200xf32> {llvm.noalias}, %c: memref<1200x1200xf32> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c24 = arith.constant 24 : index
  %c64 = arith.constant 64 : index
  %c1200 = arith.constant 1200 : index
  scf.for %i = %c0 to %c1200 step %c1 {
    scf.for %j = %c0 to %c24 step %c1 {
      scf.for %k = %c0 to %c64 step %c1 {
        %x = memref.load %a[%k, %i] : memref<64x1200xf32>
        %y = memref.load %b[%k, %j] : memref<64x1200xf32>
        %p = arith.mulf %x, %y {field.derivative} : f32
        %o = memref.load %c[%i, %j] : memref<1200x1200xf32>
        %s = arith.addf %o, %p {field.derivative} : f32
        memref.store %s, %c[%i, %j] : memref<1200x1200xf32>
      }
    }
  }
  return
}

// What decisions are made of, arrays that may be one, and elements that two points of a tile share, stay as they are.
// CHECK-LABEL: func.func @exact(
// CHECK-NOT: vector
// CHECK-LABEL: func.func @aliased(
// CHECK-NOT: vector
// CHECK-LABEL: func.func @shared(
// CHECK-NOT: vector
func.func @exact(%a: memref<9x9xf32> {llvm.noalias}, %b: memref<9x9xf32> {llvm.noalias}, %c: memref<9x9xf32> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  scf.for %i = %c0 to %c9 step %c1 {
    scf.for %j = %c0 to %c9 step %c1 {
      scf.for %k = %c0 to %c9 step %c1 {
        %x = memref.load %a[%i, %k] : memref<9x9xf32>
        %y = memref.load %b[%k, %j] : memref<9x9xf32>
        %p = arith.mulf %x, %y {field.exact} : f32
        %o = memref.load %c[%i, %j] : memref<9x9xf32>
        %s = arith.addf %o, %p {field.exact} : f32
        memref.store %s, %c[%i, %j] : memref<9x9xf32>
      }
    }
  }
  return
}

func.func @aliased(%a: memref<9x9xf32> {llvm.noalias}, %b: memref<9x9xf32>, %c: memref<9x9xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  scf.for %i = %c0 to %c9 step %c1 {
    scf.for %j = %c0 to %c9 step %c1 {
      scf.for %k = %c0 to %c9 step %c1 {
        %x = memref.load %a[%i, %k] : memref<9x9xf32>
        %y = memref.load %b[%k, %j] : memref<9x9xf32>
        %p = arith.mulf %x, %y {field.derivative} : f32
        %o = memref.load %c[%i, %j] : memref<9x9xf32>
        %s = arith.addf %o, %p {field.derivative} : f32
        memref.store %s, %c[%i, %j] : memref<9x9xf32>
      }
    }
  }
  return
}

func.func @shared(%a: memref<9x9xf32> {llvm.noalias}, %b: memref<9x9xf32> {llvm.noalias}, %c: memref<17xf32> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  scf.for %i = %c0 to %c9 step %c1 {
    scf.for %j = %c0 to %c9 step %c1 {
      scf.for %k = %c0 to %c9 step %c1 {
        %x = memref.load %a[%i, %k] : memref<9x9xf32>
        %y = memref.load %b[%k, %j] : memref<9x9xf32>
        %p = arith.mulf %x, %y {field.derivative} : f32
        %at = arith.addi %i, %j : index
        %o = memref.load %c[%at] : memref<17xf32>
        %s = arith.addf %o, %p {field.derivative} : f32
        memref.store %s, %c[%at] : memref<17xf32>
      }
    }
  }
  return
}

// Several terms share a tile: what they read is copied side by side, 0 outside of their limits. If this 0 meets an
// infinity, a function computes the tile again, and nothing is added outside of the limits.
// CHECK-LABEL: func.func private @terms.exact0(
// CHECK: scf.for %[[I:.*]] = %arg0 to %arg1 step %c1 {
// CHECK-NEXT: scf.for %[[K:.*]] = %arg2 to %arg3 step %c1 {
// CHECK-NEXT: scf.for %[[J:.*]] = %arg4 to %arg5 step %c1 {
// CHECK: memref.store %{{.*}}, %arg6[%[[I]], %[[J]]]
// CHECK: %[[WITHIN:.*]] = arith.cmpi slt, %[[J]], %c7
// CHECK-NEXT: scf.if %[[WITHIN]] {
// CHECK: memref.store %{{.*}}, %arg6[%[[I]], %[[J]]]
// CHECK-LABEL: func.func @terms(
// CHECK: %[[PANEL:.*]] = memref.alloc() {alignment = 64 : i64} : memref<18x8xf32>
// CHECK: vector.load %arg1[%{{.*}}, %c0] : memref<9x9xf32>, vector<4xf32>
// CHECK: %[[MASK:.*]] = vector.constant_mask [3] : vector<4xi1>
// CHECK: vector.maskedload %arg1[%{{.*}}, %c5], %[[MASK]]
// CHECK: scf.for %{{.*}} = %c0 to %c10 step %c5 {
// CHECK: scf.for %[[K:.*]] = %c0 to %c9 step %c1 iter_args(
// CHECK: %[[ROW:.*]] = arith.muli %[[K]], %c2
// CHECK: vector.load %[[PANEL]][%[[ROW]], %c0]
// CHECK: %[[NEXT:.*]] = arith.addi %[[ROW]], %c1
// CHECK: vector.load %[[PANEL]][%[[NEXT]], %c0]
// CHECK: vector.reduction <or>
// CHECK: scf.if
// CHECK: func.call @terms.exact0(%{{.*}}, %{{.*}}, %c0, %c9, %c0, %c8, %arg2, %arg0, %arg1)
// CHECK-NEXT: } else {
func.func @terms(%w: memref<10x9x2xf32> {llvm.noalias}, %x: memref<9x9xf32> {llvm.noalias}, %o: memref<10x8xf32> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  %c9 = arith.constant 9 : index
  %c10 = arith.constant 10 : index
  scf.for %i = %c0 to %c10 step %c1 {
    scf.for %j = %c0 to %c8 step %c1 {
      scf.for %k = %c0 to %c9 step %c1 {
        %u = memref.load %w[%i, %k, %c0] : memref<10x9x2xf32>
        %v = memref.load %x[%k, %j] : memref<9x9xf32>
        %p = arith.mulf %u, %v {field.derivative} : f32
        %a = memref.load %o[%i, %j] : memref<10x8xf32>
        %s = arith.addf %a, %p {field.derivative} : f32
        memref.store %s, %o[%i, %j] : memref<10x8xf32>
        %here = arith.cmpi slt, %j, %c7 : index
        scf.if %here {
          %next = arith.addi %j, %c1 : index
          %q = memref.load %w[%i, %k, %c1] : memref<10x9x2xf32>
          %r = memref.load %x[%k, %next] : memref<9x9xf32>
          %m = arith.mulf %q, %r {field.derivative} : f32
          %n = memref.load %o[%i, %j] : memref<10x8xf32>
          %t = arith.addf %n, %m {field.derivative} : f32
          memref.store %t, %o[%i, %j] : memref<10x8xf32>
        }
      }
    }
  }
  return
}

// Every second column: a panel of them, out of all between them.
// CHECK-LABEL: func.func @second_columns(
// CHECK: %[[PANEL:.*]] = memref.alloc()
// CHECK: %[[A:.*]] = vector.load %arg1[%{{.*}}, %c0]
// CHECK: %[[B:.*]] = vector.load %arg1[%{{.*}}, %c3]
// CHECK: %[[EVEN:.*]] = vector.shuffle %[[A]], %[[B]] [0, 2, 5, 7]
// CHECK: vector.store %[[EVEN]], %[[PANEL]]
// Of the last four one is not there: it is not read.
// CHECK: %[[ONE:.*]] = vector.shuffle %{{.*}}, %{{.*}} [0, 4, 1, 4] : vector<4xi1>, vector<4xi1>
// CHECK: vector.maskedload %arg1[%{{.*}}, %c8], %[[ONE]]
func.func @second_columns(%a: memref<10x40xf32> {llvm.noalias}, %b: memref<40x13xf32> {llvm.noalias}, %c: memref<10x7xf32> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c7 = arith.constant 7 : index
  %c10 = arith.constant 10 : index
  %c40 = arith.constant 40 : index
  scf.for %i = %c0 to %c10 step %c1 {
    scf.for %j = %c0 to %c7 step %c1 {
      scf.for %k = %c0 to %c40 step %c1 {
        %twice = arith.muli %j, %c2 : index
        %x = memref.load %a[%i, %k] : memref<10x40xf32>
        %y = memref.load %b[%k, %twice] : memref<40x13xf32>
        %p = arith.mulf %x, %y {field.derivative} : f32
        %o = memref.load %c[%i, %j] : memref<10x7xf32>
        %s = arith.addf %o, %p {field.derivative} : f32
        memref.store %s, %c[%i, %j] : memref<10x7xf32>
      }
    }
  }
  return
}

// A factor that lies across: squares of it are read along the sum and transposed, once for all rows.
// CHECK-LABEL: func.func @across(
// CHECK: scf.for %[[K:.*]] = %c0 to %c12 step %c4 {
// CHECK: %[[R0:.*]] = vector.load %arg1[%c0, %[[K]]]
// CHECK: %[[R1:.*]] = vector.load %arg1[%c1, %[[K]]]
// CHECK: %[[R2:.*]] = vector.load %arg1[%c2, %[[K]]]
// CHECK: %[[R3:.*]] = vector.load %arg1[%c3, %[[K]]]
// CHECK: %[[EVEN:.*]] = vector.shuffle %[[R0]], %[[R2]] [0, 4, 1, 5]
// CHECK: vector.shuffle %[[R0]], %[[R2]] [2, 6, 3, 7]
// CHECK: %[[ODD:.*]] = vector.shuffle %[[R1]], %[[R3]] [0, 4, 1, 5]
// CHECK: vector.shuffle %[[EVEN]], %[[ODD]] [0, 4, 1, 5]
// CHECK: vector.store
// CHECK: math.fma
func.func @across(%a: memref<100x12xf32> {llvm.noalias}, %b: memref<4x12xf32> {llvm.noalias}, %c: memref<100x4xf32> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c12 = arith.constant 12 : index
  %c100 = arith.constant 100 : index
  scf.for %i = %c0 to %c100 step %c1 {
    scf.for %j = %c0 to %c4 step %c1 {
      scf.for %k = %c0 to %c12 step %c1 {
        %x = memref.load %a[%i, %k] : memref<100x12xf32>
        %y = memref.load %b[%j, %k] : memref<4x12xf32>
        %p = arith.mulf %x, %y {field.derivative} : f32
        %o = memref.load %c[%i, %j] : memref<100x4xf32>
        %s = arith.addf %o, %p {field.derivative} : f32
        memref.store %s, %c[%i, %j] : memref<100x4xf32>
      }
    }
  }
  return
}

// Columns that lie apart in what is added to, and no others: one copy has the whole sum; vectors are made of single elements.
// CHECK-LABEL: func.func @apart(
// CHECK: %[[COPY:.*]] = memref.alloc() {{.*}} memref<20x4xf32>
// CHECK: scf.for %[[K:.*]] = %c0 to %c8 step %c4 {
// CHECK:   scf.for %[[C:.*]] = %c0 to %c20 step %c1 {
// CHECK:     %[[RIGHT:.*]] = vector.from_elements
// CHECK:     vector.store %[[RIGHT]], %[[COPY]][%[[C]], %c0]
// CHECK:   memref.load %arg2[%c0, %[[K]], %c1]
// CHECK:   vector.from_elements
// CHECK:   scf.for %[[T:.*]] = %c0 to %c20 step %c1 iter_args
// CHECK:     vector.load %[[COPY]][%[[T]], %c0]
// CHECK-COUNT-5: math.fma
// CHECK:   vector.extract
// CHECK:   memref.store
// CHECK-COUNT-4: math.fma
// CHECK-NOT: math.fma
// CHECK: memref.dealloc %[[COPY]]
func.func @apart(%x: memref<20x9xf32> {llvm.noalias}, %w: memref<8x20xf32> {llvm.noalias}, %o: memref<9x8x3xf32> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c9 = arith.constant 9 : index
  %c20 = arith.constant 20 : index
  scf.for %n = %c0 to %c9 step %c1 {
    scf.for %k = %c0 to %c8 step %c1 {
      scf.for %c = %c0 to %c20 step %c1 {
        %left = memref.load %x[%c, %n] : memref<20x9xf32>
        %right = memref.load %w[%k, %c] : memref<8x20xf32>
        %p = arith.mulf %left, %right {field.derivative} : f32
        %old = memref.load %o[%n, %k, %c1] : memref<9x8x3xf32>
        %new = arith.addf %old, %p {field.derivative} : f32
        memref.store %new, %o[%n, %k, %c1] : memref<9x8x3xf32>
      }
    }
  }
  return
}

// A product that is 0 if a factor is 0, whatever the other one is: tiles leave out the choice, and a function computes
// them again, with it, if a sum is a NaN.
// CHECK-LABEL: func.func private @guarded.exact0(
// CHECK: %[[B:.*]] = memref.load %arg8
// CHECK: %[[PRODUCT:.*]] = arith.mulf %{{.*}}, %[[B]]
// CHECK: %[[ZERO:.*]] = arith.cmpf oeq, %[[B]], %cst
// CHECK: arith.select %[[ZERO]], %cst, %[[PRODUCT]]
// CHECK-LABEL: func.func @guarded(
// CHECK: scf.for %{{.*}} = %c0 to %c10 step %c5 {
// CHECK: scf.for %{{.*}} = %c0 to %c40 step %c1 iter_args(
// CHECK-NOT: arith.select
// CHECK: math.fma
// CHECK: arith.cmpf uno, %{{.*}} : vector<4xf32>
// CHECK: %[[ANY:.*]] = vector.reduction <or>
// CHECK: scf.if %[[ANY]] {
// CHECK: func.call @guarded.exact0(
// CHECK-NEXT: } else {
// CHECK-NEXT: vector.store
func.func @guarded(%a: memref<10x40xf32> {llvm.noalias}, %b: memref<40x8xf32> {llvm.noalias}, %c: memref<10x8xf32> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c10 = arith.constant 10 : index
  %c40 = arith.constant 40 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c10 step %c1 {
    scf.for %j = %c0 to %c8 step %c1 {
      scf.for %k = %c0 to %c40 step %c1 {
        %x = memref.load %a[%i, %k] : memref<10x40xf32>
        %y = memref.load %b[%k, %j] : memref<40x8xf32>
        %p = arith.mulf %x, %y {field.derivative} : f32
        %is_zero = arith.cmpf oeq, %y, %zero : f32
        %q = arith.select %is_zero, %zero, %p : f32
        %o = memref.load %c[%i, %j] : memref<10x8xf32>
        %s = arith.addf %o, %q {field.derivative} : f32
        memref.store %s, %c[%i, %j] : memref<10x8xf32>
      }
    }
  }
  return
}

// A part of the tangent of a product that is 0 where another product of one of its factors is a NaN by a 0: if the
// other factor is infinite, the part is, too, so tiles are computed again if a sum is not finite.
// CHECK-LABEL: func.func private @tangent.exact0(
// CHECK: %[[PRODUCT:.*]] = arith.mulf %[[X:.*]], %[[Y:.*]] {field.loose}
// CHECK: %[[CHOICE:.*]] = arith.select %{{.*}}, %cst, %[[PRODUCT]]
// CHECK: %[[G:.*]] = memref.load %arg{{[0-9]+}}[
// CHECK: %[[WITNESS:.*]] = arith.mulf %[[G]], %{{.*}}
// CHECK: %[[NAN:.*]] = arith.cmpf uno, %[[WITNESS]], %[[WITNESS]]
// CHECK: %[[NONE:.*]] = arith.cmpf oeq, %[[G]], %cst
// CHECK: %[[BOTH:.*]] = arith.andi %[[NAN]], %[[NONE]]
// CHECK: arith.select %[[BOTH]], %cst, %[[CHOICE]]
// CHECK-LABEL: func.func @tangent(
// CHECK-NOT: arith.select
// CHECK: %[[SUMS:.*]]:10 = scf.for %{{.*}} = %c0 to %c40 step %c1 iter_args(
// CHECK: %[[NONE:.*]] = arith.subf %[[SUMS]]#0, %[[SUMS]]#0 : vector<4xf32>
// CHECK: arith.cmpf uno, %[[NONE]], %{{.*}} : vector<4xf32>
// CHECK: func.call @tangent.exact0(
func.func @tangent(%a: memref<10x40xf32> {llvm.noalias}, %b: memref<40x8xf32> {llvm.noalias}, %g: memref<10x40xf32> {llvm.noalias}, %c: memref<10x8xf32> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c10 = arith.constant 10 : index
  %c40 = arith.constant 40 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c10 step %c1 {
    scf.for %j = %c0 to %c8 step %c1 {
      scf.for %k = %c0 to %c40 step %c1 {
        %x = memref.load %a[%i, %k] : memref<10x40xf32>
        %y = memref.load %b[%k, %j] : memref<40x8xf32>
        %t = memref.load %g[%i, %k] : memref<10x40xf32>
        %p = arith.mulf %x, %y {field.derivative} : f32
        %x_is_zero = arith.cmpf oeq, %x, %zero : f32
        %q = arith.select %x_is_zero, %zero, %p : f32
        %w = arith.mulf %t, %y {field.derivative} : f32
        %is_nan = arith.cmpf uno, %w, %w : f32
        %t_is_zero = arith.cmpf oeq, %t, %zero : f32
        %is_none = arith.andi %is_nan, %t_is_zero : i1
        %r = arith.select %is_none, %zero, %q : f32
        %o = memref.load %c[%i, %j] : memref<10x8xf32>
        %s = arith.addf %o, %r {field.derivative} : f32
        memref.store %s, %c[%i, %j] : memref<10x8xf32>
      }
    }
  }
  return
}

// The tangent of another product, of none of its factors: not a contraction.
// CHECK-LABEL: func.func @strange_tangent(
// CHECK-NOT: vector
// CHECK: return
func.func @strange_tangent(%a: memref<10x40xf32> {llvm.noalias}, %b: memref<40x8xf32> {llvm.noalias}, %g: memref<10x40xf32> {llvm.noalias}, %c: memref<10x8xf32> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c10 = arith.constant 10 : index
  %c40 = arith.constant 40 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c10 step %c1 {
    scf.for %j = %c0 to %c8 step %c1 {
      scf.for %k = %c0 to %c40 step %c1 {
        %x = memref.load %a[%i, %k] : memref<10x40xf32>
        %y = memref.load %b[%k, %j] : memref<40x8xf32>
        %t = memref.load %g[%i, %k] : memref<10x40xf32>
        %u = memref.load %g[%i, %c0] : memref<10x40xf32>
        %p = arith.mulf %x, %y {field.derivative} : f32
        %w = arith.mulf %t, %u {field.derivative} : f32
        %is_nan = arith.cmpf uno, %w, %w : f32
        %t_is_zero = arith.cmpf oeq, %t, %zero : f32
        %is_none = arith.andi %is_nan, %t_is_zero : i1
        %r = arith.select %is_none, %zero, %p : f32
        %o = memref.load %c[%i, %j] : memref<10x8xf32>
        %s = arith.addf %o, %r {field.derivative} : f32
        memref.store %s, %c[%i, %j] : memref<10x8xf32>
      }
    }
  }
  return
}

// Rows of the left factor that lie side by side, and trips of the sum that lie far apart: all tiles run for some trips
// before the next ones.
// CHECK-LABEL: func.func @far_trips(
// CHECK: scf.for %[[FIRST:.*]] = %c0 to %c200 step %c64 {
// CHECK-NEXT: %[[NEXT:.*]] = arith.addi %[[FIRST]], %c64
// CHECK-NEXT: %[[LAST:.*]] = arith.minsi %[[NEXT]], %c200
// CHECK-NEXT: scf.for %{{.*}} = %c0 to %c510 step %c6 {
// CHECK: scf.for %{{.*}} = %[[FIRST]] to %[[LAST]] step %c1 iter_args(
// CHECK: math.fma
// CHECK: vector.store
func.func @far_trips(%a: memref<200x512xf32> {llvm.noalias}, %b: memref<200x8xf32> {llvm.noalias}, %c: memref<512x8xf32> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c200 = arith.constant 200 : index
  %c512 = arith.constant 512 : index
  scf.for %i = %c0 to %c512 step %c1 {
    scf.for %j = %c0 to %c8 step %c1 {
      scf.for %k = %c0 to %c200 step %c1 {
        %x = memref.load %a[%k, %i] : memref<200x512xf32>
        %y = memref.load %b[%k, %j] : memref<200x8xf32>
        %p = arith.mulf %x, %y {field.derivative} : f32
        %o = memref.load %c[%i, %j] : memref<512x8xf32>
        %s = arith.addf %o, %p {field.derivative} : f32
        memref.store %s, %c[%i, %j] : memref<512x8xf32>
      }
    }
  }
  return
}

// Fewer columns than lanes of a factor that lies across: the lanes without a column are 0 in the copy.
// CHECK-LABEL: func.func @across_few_columns(
// CHECK: %[[COPY:.*]] = memref.alloc() {alignment = 64 : i64} : memref<12x4xf32>
// CHECK: scf.for %[[K:.*]] = %c0 to %c12 step %c1 {
// CHECK-NEXT: vector.store %cst{{.*}}, %[[COPY]][%[[K]], %c0] : memref<12x4xf32>, vector<4xf32>
// CHECK: memref.load %arg1
// CHECK: math.fma
func.func @across_few_columns(%a: memref<100x12xf32> {llvm.noalias}, %b: memref<3x12xf32> {llvm.noalias}, %c: memref<100x3xf32> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c12 = arith.constant 12 : index
  %c100 = arith.constant 100 : index
  scf.for %i = %c0 to %c100 step %c1 {
    scf.for %j = %c0 to %c3 step %c1 {
      scf.for %k = %c0 to %c12 step %c1 {
        %x = memref.load %a[%i, %k] : memref<100x12xf32>
        %y = memref.load %b[%j, %k] : memref<3x12xf32>
        %p = arith.mulf %x, %y {field.derivative} : f32
        %o = memref.load %c[%i, %j] : memref<100x3xf32>
        %s = arith.addf %o, %p {field.derivative} : f32
        memref.store %s, %c[%i, %j] : memref<100x3xf32>
      }
    }
  }
  return
}
