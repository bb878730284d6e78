// RUN: mlirad-opt %s --tile-contractions='least=1 width=64' --canonicalize --cse | filecheck %s
// RUN: mlirad-opt %s --tile-contractions='least=1 width=64' --tile-contractions='least=1 width=64' --canonicalize --cse | filecheck %s

// Of many columns a tile has three vectors: its 24 sums, those and a number of the left factor fill the registers.
// CHECK-LABEL: func.func @many_columns(
// CHECK: memref.alloc() {alignment = 64 : i64} : memref<64x48xf32>
// CHECK: scf.for %{{.*}} = %{{.*}} to %c384 step %c48
// CHECK-COUNT-24: math.fma
// CHECK-NOT: math.fma
// CHECK: return
func.func @many_columns(%a: memref<64x64xf32> {llvm.noalias}, %b: memref<64x384xf32> {llvm.noalias}, %c: memref<64x384xf32> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c384 = arith.constant 384 : index
  scf.for %i = %c0 to %c64 step %c1 {
    scf.for %j = %c0 to %c384 step %c1 {
      scf.for %k = %c0 to %c64 step %c1 {
        %x = memref.load %a[%i, %k] : memref<64x64xf32>
        %y = memref.load %b[%k, %j] : memref<64x384xf32>
        %p = arith.mulf %x, %y {field.derivative} : f32
        %o = memref.load %c[%i, %j] : memref<64x384xf32>
        %s = arith.addf %o, %p {field.derivative} : f32
        memref.store %s, %c[%i, %j] : memref<64x384xf32>
      }
    }
  }
  return
}

// Of fewer columns it has two, of which less is left over; rows that are near are read where they are.
// CHECK-LABEL: func.func @fewer_columns(
// CHECK-NOT: memref.alloc
// CHECK: scf.for %{{.*}} = %{{.*}} to %c64 step %c32
// CHECK-COUNT-16: math.fma
// CHECK-NOT: math.fma
// CHECK: return
func.func @fewer_columns(%a: memref<64x64xf32> {llvm.noalias}, %b: memref<64x64xf32> {llvm.noalias}, %c: memref<64x64xf32> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c64 step %c1 {
    scf.for %j = %c0 to %c64 step %c1 {
      scf.for %k = %c0 to %c64 step %c1 {
        %x = memref.load %a[%i, %k] : memref<64x64xf32>
        %y = memref.load %b[%k, %j] : memref<64x64xf32>
        %p = arith.mulf %x, %y {field.derivative} : f32
        %o = memref.load %c[%i, %j] : memref<64x64xf32>
        %s = arith.addf %o, %p {field.derivative} : f32
        memref.store %s, %c[%i, %j] : memref<64x64xf32>
      }
    }
  }
  return
}
