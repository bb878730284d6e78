// RUN: mlirad-opt %s --split-long-blocks=length=8 | filecheck %s
// RUN: mlirad-opt %s --split-long-blocks=length=100 | filecheck %s --check-prefix=WHOLE

// Two values are alive in the middle, of which one is a truth value: they go through memory of the
// function. What it was given goes to both as an argument, constants are made again.
// CHECK-LABEL: func.func private @chain.part0(
// CHECK-SAME: %[[FRAME:.*]]: !llvm.ptr {llvm.noalias}, %[[V:.*]]: f32) attributes {llvm.no_inline} {
// CHECK: arith.constant 2.0
// CHECK: %[[TEST:.*]] = arith.cmpf
// CHECK: %[[BYTE:.*]] = arith.extui %[[TEST]] : i1 to i8
// CHECK: %[[PLACE:.*]] = llvm.getelementptr %[[FRAME]][4]
// CHECK: llvm.store %[[BYTE]], %[[PLACE]]
// CHECK: return
// CHECK-LABEL: func.func private @chain.part1(
// CHECK: llvm.load
// CHECK: arith.trunci
// CHECK: arith.select
// CHECK: return
// CHECK-LABEL: func.func @chain(%arg0: f32) -> f32
// CHECK: %[[MEMORY:.*]] = llvm.alloca
// CHECK: call @chain.part0(%[[MEMORY]], %arg0)
// CHECK-NEXT: call @chain.part1(%[[MEMORY]], %arg0)
// CHECK-NEXT: llvm.getelementptr %[[MEMORY]]
// CHECK-NEXT: %[[LAST:.*]] = llvm.load
// CHECK-NEXT: return %[[LAST]]
// WHOLE-LABEL: func.func @chain(
// WHOLE-NOT: call
func.func @chain(%v: f32) -> f32 {
  %two = arith.constant 2.0 : f32
  %b = arith.cmpf ogt, %v, %two : f32
  %0 = arith.mulf %v, %two : f32
  %1 = arith.addf %0, %v : f32
  %2 = arith.mulf %1, %1 : f32
  %3 = arith.addf %2, %v : f32
  %4 = arith.mulf %3, %3 : f32
  %5 = arith.addf %4, %two : f32
  %6 = arith.mulf %5, %5 : f32
  %7 = arith.addf %6, %v : f32
  %8 = arith.mulf %7, %7 : f32
  %9 = arith.addf %8, %two : f32
  %10 = arith.mulf %9, %9 : f32
  %11 = arith.addf %10, %v : f32
  %12 = arith.select %b, %11, %10 : f32
  return %12 : f32
}

// The body of a loop: what it carries stays with the loop, and is read in front of its end. Memory
// of the block stays in it.
// CHECK-LABEL: func.func private @loop.part0(
// CHECK-SAME: !llvm.ptr {llvm.noalias}, %{{.*}}: index, %{{.*}}: memref<4xvector<4xindex>>)
// CHECK: arith.index_cast %{{.*}} : vector<4xindex> to vector<4xi64>
// CHECK-LABEL: func.func @loop(
// CHECK: scf.for {{.*}} iter_args(%[[CARRIED:.*]] = %{{.*}}) -> (vector<4xindex>)
// CHECK: %[[OWN:.*]] = memref.alloca()
// CHECK: call @loop.part0(%{{.*}}, %{{.*}}, %[[OWN]])
// CHECK: call @loop.part1(
// CHECK: %[[WORDS:.*]] = llvm.load
// CHECK: %[[NEXT:.*]] = arith.index_cast %[[WORDS]] : vector<4xi64> to vector<4xindex>
// CHECK: scf.yield %[[NEXT]]
func.func @loop(%n: index, %z: vector<4xindex>) -> vector<4xindex> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %z) -> vector<4xindex> {
    %m = memref.alloca() : memref<4xvector<4xindex>>
    %0 = vector.broadcast %i : index to vector<4xindex>
    %1 = arith.addi %0, %0 : vector<4xindex>
    memref.store %1, %m[%c0] : memref<4xvector<4xindex>>
    %2 = arith.muli %1, %0 : vector<4xindex>
    %3 = arith.addi %2, %0 : vector<4xindex>
    %4 = arith.muli %3, %3 : vector<4xindex>
    %5 = arith.addi %4, %3 : vector<4xindex>
    %6 = arith.muli %5, %5 : vector<4xindex>
    %7 = arith.addi %6, %6 : vector<4xindex>
    %8 = arith.muli %7, %7 : vector<4xindex>
    %9 = arith.addi %8, %7 : vector<4xindex>
    %10 = memref.load %m[%c0] : memref<4xvector<4xindex>>
    %11 = arith.addi %10, %9 : vector<4xindex>
    %12 = arith.muli %11, %11 : vector<4xindex>
    %13 = arith.addi %12, %s : vector<4xindex>
    scf.yield %13 : vector<4xindex>
  }
  return %r : vector<4xindex>
}

// Two views of one array: both are made again of its address, which is all that a piece is given.
// CHECK-LABEL: func.func private @views.part0(
// CHECK-SAME: %{{.*}}: !llvm.ptr {llvm.noalias}, %[[P:[^:]*]]: !llvm.ptr {llvm.noalias}, %{{[^:]*}}: f32)
// CHECK: llvm.insertvalue %[[P]]
// CHECK: %[[CAST:.*]] = builtin.unrealized_conversion_cast
// CHECK: memref.reinterpret_cast %[[CAST]]
// CHECK-LABEL: func.func @views(
func.func @views(%p: !llvm.ptr {llvm.noalias}, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %six = llvm.mlir.constant(6 : i64) : i64
  %none = llvm.mlir.poison : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
  %s0 = llvm.insertvalue %p, %none[0] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
  %s1 = llvm.insertvalue %p, %s0[1] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
  %s2 = llvm.insertvalue %zero, %s1[2] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
  %s3 = llvm.insertvalue %six, %s2[3, 0] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
  %s4 = llvm.insertvalue %one, %s3[4, 0] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
  %m = builtin.unrealized_conversion_cast %s4 : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> to memref<6xf32, strided<[1]>>
  %flat = memref.reinterpret_cast %m to offset: [0], sizes: [6], strides: [1] : memref<6xf32, strided<[1]>> to memref<6xf32>
  %0 = memref.load %m[%c0] : memref<6xf32, strided<[1]>>
  %1 = arith.addf %0, %v : f32
  memref.store %1, %flat[%c0] : memref<6xf32>
  %2 = memref.load %m[%c0] : memref<6xf32, strided<[1]>>
  %3 = arith.mulf %2, %v : f32
  memref.store %3, %flat[%c1] : memref<6xf32>
  %4 = memref.load %m[%c1] : memref<6xf32, strided<[1]>>
  %5 = arith.mulf %4, %2 : f32
  %6 = arith.addf %5, %v : f32
  %7 = arith.mulf %6, %6 : f32
  %8 = arith.addf %7, %v : f32
  %9 = arith.mulf %8, %8 : f32
  %10 = arith.addf %9, %v : f32
  memref.store %10, %flat[%c0] : memref<6xf32>
  return
}

// An address that the second piece makes of %p: of the third, which reads it, nobody can say that
// nothing else points where %p does; of %q one can.
// CHECK-LABEL: func.func private @address.part1(
// CHECK-SAME: %{{[^:]*}}: !llvm.ptr {llvm.noalias}, %{{[^:]*}}: !llvm.ptr {llvm.noalias}, %{{[^:]*}}: !llvm.ptr {llvm.noalias})
// CHECK: llvm.store %{{.*}} : !llvm.ptr, !llvm.ptr
// CHECK-LABEL: func.func private @address.part2(
// CHECK-SAME: %{{[^:]*}}: !llvm.ptr {llvm.noalias}, %{{[^:]*}}: !llvm.ptr, %{{[^:]*}}: !llvm.ptr {llvm.noalias})
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> !llvm.ptr
// CHECK-LABEL: func.func @address(
func.func @address(%p: !llvm.ptr {llvm.noalias}, %q: !llvm.ptr {llvm.noalias}, %i: i64) {
  %0 = arith.muli %i, %i : i64
  %1 = arith.addi %0, %i : i64
  %2 = arith.muli %1, %1 : i64
  %3 = arith.addi %2, %i : i64
  %4 = arith.muli %3, %3 : i64
  %5 = arith.addi %4, %i : i64
  %6 = arith.muli %5, %5 : i64
  %7 = llvm.getelementptr %p[%6] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %8 = llvm.load %p : !llvm.ptr -> f32
  llvm.store %8, %7 : f32, !llvm.ptr
  %9 = llvm.load %p : !llvm.ptr -> f32
  %10 = arith.addf %9, %9 : f32
  llvm.store %10, %q : f32, !llvm.ptr
  %11 = llvm.load %7 : !llvm.ptr -> f32
  %12 = arith.addf %11, %11 : f32
  llvm.store %12, %p : f32, !llvm.ptr
  llvm.store %12, %q : f32, !llvm.ptr
  return
}

// A piece is handed an index, and adds to it itself: what it accesses beside is at a constant
// distance. The first piece hands nothing else over.
// CHECK-LABEL: func.func private @beside.part0(
// CHECK-SAME: %{{.*}}: !llvm.ptr
// CHECK: llvm.store {{.*}} : i64
// CHECK-NOT: : i64, !llvm.ptr
// CHECK: return
// CHECK-LABEL: func.func private @beside.part1(
// CHECK: %[[READ:.*]] = llvm.load {{.*}} -> i64
// CHECK-NEXT: %[[I:.*]] = arith.index_cast %[[READ]]
// CHECK-NOT: -> i64
// CHECK: %[[J:.*]] = arith.addi %[[I]], %c1
// CHECK-NEXT: memref.load %{{.*}}[%[[J]]]
// CHECK: return
// CHECK-LABEL: func.func @beside(
func.func @beside(%x: memref<64xf32>, %y: memref<64xf32>, %n: index) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %two = arith.constant 2.0 : f32
  %i = arith.muli %n, %c3 : index
  %j = arith.addi %i, %c1 : index
  %k = arith.addi %i, %c2 : index
  %0 = memref.load %x[%i] : memref<64xf32>
  %1 = memref.load %x[%j] : memref<64xf32>
  %2 = memref.load %x[%k] : memref<64xf32>
  %3 = arith.addf %0, %1 : f32
  %4 = arith.mulf %3, %2 : f32
  memref.store %4, %x[%i] : memref<64xf32>
  %5 = memref.load %y[%j] : memref<64xf32>
  %6 = arith.mulf %5, %two : f32
  memref.store %6, %y[%j] : memref<64xf32>
  %7 = memref.load %y[%k] : memref<64xf32>
  %8 = arith.mulf %7, %two : f32
  memref.store %8, %y[%k] : memref<64xf32>
  return
}
