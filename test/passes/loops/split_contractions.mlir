// RUN: mlirad-opt %s --split-contractions=least=1 --canonicalize --cse | filecheck %s
// RUN: mlirad-opt %s --split-contractions=least=1 --split-contractions=least=1 --canonicalize --cse | filecheck %s

// The sum is made for a block of rows, then used; what is made of it is kept for the update behind the block.
// CHECK-LABEL: func.func @sum_and_update(
// CHECK: %[[KEPT:.*]] = memref.alloc() {alignment = 64 : i64} : memref<[[BLOCK:.*]]x8xf32>
// CHECK: %[[SUM:.*]] = memref.alloc() {alignment = 64 : i64} : memref<[[BLOCK]]x8xf32>
// CHECK: scf.for %[[FIRST:.*]] = %c0 to %arg4 step %c[[BLOCK]] {
// CHECK: %[[LAST:.*]] = arith.minsi
// CHECK: memref.store %cst, %[[SUM]]
// CHECK: scf.for %{{.*}} = %[[FIRST]] to %[[LAST]] step %c1 {
// CHECK: scf.for
// CHECK: scf.for
// CHECK: arith.mulf
// CHECK: memref.store %{{.*}}, %[[SUM]]
// CHECK: scf.for %{{.*}} = %[[FIRST]] to %[[LAST]] step %c1 {
// CHECK: memref.load %[[SUM]]
// CHECK: %[[T:.*]] = math.tanh
// CHECK: memref.store %[[T]], %[[KEPT]]
// CHECK: scf.for %{{.*}} = %c0 to %c8 step %c1 {
// CHECK: scf.for %{{.*}} = %c0 to %c6 step %c1 {
// CHECK: scf.for %{{.*}} = %[[FIRST]] to %[[LAST]] step %c1 {
// CHECK: memref.load %[[KEPT]]
// CHECK: memref.store %{{.*}}, %arg2
// CHECK: memref.dealloc
// CHECK: memref.dealloc
func.func @sum_and_update(%w: memref<8x6xf32> {llvm.noalias}, %x: memref<?x6xf32> {llvm.noalias}, %g: memref<8x6xf32> {llvm.noalias}, %h: memref<?x8xf32> {llvm.noalias}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  scf.for %b = %c0 to %n step %c1 {
    scf.for %i = %c0 to %c8 step %c1 {
      %sum = scf.for %j = %c0 to %c6 step %c1 iter_args(%s = %zero) -> f32 {
        %u = memref.load %w[%i, %j] : memref<8x6xf32>
        %v = memref.load %x[%b, %j] : memref<?x6xf32>
        %p = arith.mulf %u, %v {field.derivative} : f32
        %t = arith.addf %s, %p {field.derivative} : f32
        scf.yield %t : f32
      }
      %e = math.tanh %sum {field.derivative} : f32
      memref.store %e, %h[%b, %i] : memref<?x8xf32>
      scf.for %j = %c0 to %c6 step %c1 {
        %v = memref.load %x[%b, %j] : memref<?x6xf32>
        %p = arith.mulf %e, %v {field.derivative} : f32
        %o = memref.load %g[%i, %j] : memref<8x6xf32>
        %t = arith.addf %o, %p {field.derivative} : f32
        memref.store %t, %g[%i, %j] : memref<8x6xf32>
      }
    }
  }
  return
}

// A guard that bounds an index bounds its loop; a value that is 0 outside of it adds nothing there.
// CHECK-LABEL: func.func @guarded(
// CHECK-NOT: scf.if
// CHECK: scf.for %[[I:.*]] = %c0 to %c7 step %c1 {
// CHECK: scf.for %[[J:.*]] = %c1 to %c8 step %c1 {
// CHECK: scf.for
// CHECK: %[[AT:.*]] = arith.addi %[[J]], %c-1 : index
// CHECK: memref.load %arg1[%{{.*}}, %[[AT]]]
func.func @guarded(%w: memref<7x9xf32> {llvm.noalias}, %x: memref<9x8xf32> {llvm.noalias}, %o: memref<7x8xf32> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  %c9 = arith.constant 9 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c7 step %c1 {
    scf.for %j = %c0 to %c8 step %c1 {
      scf.for %k = %c0 to %c9 step %c1 {
        %at = arith.subi %j, %c1 : index
        %low = arith.cmpi sge, %at, %c0 : index
        %v = scf.if %low -> f32 {
          %l = memref.load %x[%k, %at] : memref<9x8xf32>
          scf.yield %l : f32
        } else {
          scf.yield %zero : f32
        }
        %u = memref.load %w[%i, %k] : memref<7x9xf32>
        %p = arith.mulf %u, %v {field.derivative} : f32
        %q = memref.load %o[%i, %j] : memref<7x8xf32>
        %t = arith.addf %q, %p {field.derivative} : f32
        memref.store %t, %o[%i, %j] : memref<7x8xf32>
      }
    }
  }
  return
}

// What is read in between, exact, or of memory that is written, stays where it is.
// CHECK-LABEL: func.func @seen(
// CHECK: %[[S:.*]] = scf.for {{.*}} iter_args
// CHECK: memref.store %[[S]]
// CHECK: scf.for
// CHECK-NOT: scf.for
func.func @seen(%a: memref<9x9xf32> {llvm.noalias}, %b: memref<9x9xf32> {llvm.noalias}, %c: memref<9x9xf32> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c9 step %c1 {
    scf.for %j = %c0 to %c9 step %c1 {
      %sum = scf.for %k = %c0 to %c9 step %c1 iter_args(%s = %zero) -> f32 {
        %x = memref.load %a[%i, %k] : memref<9x9xf32>
        %y = memref.load %b[%k, %j] : memref<9x9xf32>
        %p = arith.mulf %x, %y {field.derivative} : f32
        %t = arith.addf %s, %p {field.derivative} : f32
        scf.yield %t : f32
      }
      memref.store %sum, %b[%i, %j] : memref<9x9xf32>
      scf.for %k = %c0 to %c9 step %c1 {
        %x = memref.load %a[%i, %k] : memref<9x9xf32>
        %p = arith.mulf %x, %sum {field.derivative} : f32
        %o = memref.load %c[%i, %j] : memref<9x9xf32>
        %t = arith.addf %o, %p {field.exact} : f32
        memref.store %t, %c[%i, %j] : memref<9x9xf32>
      }
    }
  }
  return
}

// A sum that only goes to memory is made there; what is read and then cleared is read behind the nest, and cleared then.
// CHECK-LABEL: func.func @in_place(
// CHECK-NOT: memref.alloc
// CHECK: memref.store %cst, %arg2
// CHECK: arith.addf
// CHECK-NEXT: memref.store %{{.*}}, %arg2
// CHECK: memref.load %arg3
// CHECK: arith.addf
// CHECK-NEXT: memref.store %{{.*}}, %arg4
// CHECK: memref.store %cst, %arg3
func.func @in_place(%a: memref<9x8xf32> {llvm.noalias}, %b: memref<8x9xf32> {llvm.noalias}, %c: memref<9x9xf32> {llvm.noalias}, %g: memref<9x9xf32> {llvm.noalias}, %h: memref<8x9xf32> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c9 = arith.constant 9 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c9 step %c1 {
    scf.for %j = %c0 to %c9 step %c1 {
      %sum = scf.for %k = %c0 to %c8 step %c1 iter_args(%s = %zero) -> f32 {
        %x = memref.load %a[%i, %k] : memref<9x8xf32>
        %y = memref.load %b[%k, %j] : memref<8x9xf32>
        %p = arith.mulf %x, %y {field.derivative} : f32
        %t = arith.addf %s, %p {field.derivative} : f32
        scf.yield %t : f32
      }
      memref.store %sum, %c[%i, %j] : memref<9x9xf32>
      %e = memref.load %g[%i, %j] : memref<9x9xf32>
      memref.store %zero, %g[%i, %j] : memref<9x9xf32>
      scf.for %k = %c0 to %c8 step %c1 {
        %x = memref.load %a[%i, %k] : memref<9x8xf32>
        %p = arith.mulf %x, %e {field.derivative} : f32
        %o = memref.load %h[%k, %j] : memref<8x9xf32>
        %t = arith.addf %o, %p {field.derivative} : f32
        memref.store %t, %h[%k, %j] : memref<8x9xf32>
      }
    }
  }
  return
}

// A short loop whose index hides the bound of another one is written out.
// CHECK-LABEL: func.func @window(
// CHECK-NOT: scf.if
// CHECK: scf.for %{{.*}} = %c1 to %c8 step %c1 {
// CHECK: memref.load %arg0[%{{.*}}, %{{.*}}, %c0]
// CHECK: scf.for %{{.*}} = %c0 to %c8 step %c1 {
// CHECK: memref.load %arg0[%{{.*}}, %{{.*}}, %c1]
func.func @window(%w: memref<7x9x2xf32> {llvm.noalias}, %x: memref<9x8xf32> {llvm.noalias}, %o: memref<7x8xf32> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  %c9 = arith.constant 9 : index
  scf.for %i = %c0 to %c7 step %c1 {
    scf.for %j = %c0 to %c8 step %c1 {
      scf.for %k = %c0 to %c9 step %c1 {
        scf.for %v = %c0 to %c2 step %c1 {
          %sum = arith.addi %j, %v : index
          %at = arith.subi %sum, %c1 : index
          %low = arith.cmpi sge, %at, %c0 : index
          scf.if %low {
            %l = memref.load %x[%k, %at] : memref<9x8xf32>
            %u = memref.load %w[%i, %k, %v] : memref<7x9x2xf32>
            %p = arith.mulf %u, %l {field.derivative} : f32
            %q = memref.load %o[%i, %j] : memref<7x8xf32>
            %t = arith.addf %q, %p {field.derivative} : f32
            memref.store %t, %o[%i, %j] : memref<7x8xf32>
          }
        }
      }
    }
  }
  return
}

// Tangents are sums of products, added at once: each is a nest of its own, in the loops where it is added, with its sign.
// CHECK-LABEL: func.func @several(
// CHECK: memref.store %cst, %arg3
// CHECK-COUNT-3: scf.for
// CHECK: memref.load %arg0
// CHECK: memref.load %arg1
// CHECK: %[[ONE:.*]] = arith.mulf
// CHECK: arith.addf %{{.*}}, %[[ONE]]
// CHECK-COUNT-3: scf.for
// CHECK: memref.load %arg1
// CHECK: memref.load %arg2
// CHECK: %[[TWO:.*]] = arith.mulf
// CHECK: arith.subf %{{.*}}, %[[TWO]]
// CHECK-COUNT-3: scf.for
// CHECK: arith.addf %{{.*}}
// CHECK-COUNT-3: scf.for
// CHECK: arith.addf %{{.*}}
func.func @several(%a: memref<9x9xf32> {llvm.noalias}, %b: memref<9x9xf32> {llvm.noalias}, %c: memref<9x9xf32> {llvm.noalias}, %d: memref<9x9xf32> {llvm.noalias}, %e: memref<9x9xf32> {llvm.noalias}, %f: memref<9x9xf32> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c9 step %c1 {
    scf.for %j = %c0 to %c9 step %c1 {
      %u = memref.load %f[%i, %j] : memref<9x9xf32>
      %sum = scf.for %k = %c0 to %c9 step %c1 iter_args(%s = %zero) -> f32 {
        %x = memref.load %a[%i, %k] : memref<9x9xf32>
        %y = memref.load %b[%k, %j] : memref<9x9xf32>
        %z = memref.load %c[%i, %k] : memref<9x9xf32>
        %p = arith.mulf %x, %y {field.derivative} : f32
        %q = arith.mulf %y, %z {field.derivative} : f32
        %r = arith.subf %p, %q {field.derivative} : f32
        %t = arith.addf %s, %r {field.derivative} : f32
        scf.yield %t : f32
      }
      memref.store %sum, %d[%i, %j] : memref<9x9xf32>
      scf.for %k = %c0 to %c9 step %c1 {
        %x = memref.load %a[%j, %k] : memref<9x9xf32>
        %y = memref.load %b[%j, %k] : memref<9x9xf32>
        %p = arith.mulf %u, %x {field.derivative} : f32
        %q = arith.mulf %u, %y {field.derivative} : f32
        %r = arith.addf %p, %q {field.derivative} : f32
        %o = memref.load %e[%i, %k] : memref<9x9xf32>
        %t = arith.addf %o, %r {field.derivative} : f32
        memref.store %t, %e[%i, %k] : memref<9x9xf32>
      }
    }
  }
  return
}

// A sum that a branch without a result looks at on its way is not split.
// CHECK-LABEL: func.func @looked_at(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: %[[S:.*]] = scf.for %{{.*}} iter_args(%[[SUM:.*]] = %cst)
// CHECK: arith.mulf
// CHECK: scf.if
// CHECK-NEXT: memref.store %[[SUM]]
// CHECK: memref.store %[[S]]
func.func @looked_at(%w: memref<8x6xf32> {llvm.noalias}, %x: memref<?x6xf32> {llvm.noalias}, %g: memref<6xf32> {llvm.noalias}, %h: memref<?x8xf32> {llvm.noalias}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  scf.for %b = %c0 to %n step %c1 {
    scf.for %i = %c0 to %c8 step %c1 {
      %sum = scf.for %j = %c0 to %c6 step %c1 iter_args(%s = %zero) -> f32 {
        %u = memref.load %w[%i, %j] : memref<8x6xf32>
        %v = memref.load %x[%b, %j] : memref<?x6xf32>
        %p = arith.mulf %u, %v {field.derivative} : f32
        %large = arith.cmpf ogt, %p, %zero : f32
        scf.if %large {
          memref.store %s, %g[%j] : memref<6xf32>
        }
        %t = arith.addf %s, %p {field.derivative} : f32
        scf.yield %t : f32
      }
      memref.store %sum, %h[%b, %i] : memref<?x8xf32>
    }
  }
  return
}
