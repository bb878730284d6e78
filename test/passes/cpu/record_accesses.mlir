// RUN: mlirad-opt %s --record-accesses=log=4096 | filecheck %s

// CHECK-LABEL: llvm.func internal @record.access
// CHECK-SAME: no_inline
// CHECK: llvm.mlir.constant(4096 : i64)

// A function whose address is taken is a piece, with a stack of its own: kind 5 << 32.
// CHECK-LABEL: llvm.func internal @f.piece0
// CHECK: %[[STACK:.*]] = llvm.call_intrinsic "llvm.frameaddress.p0"
// CHECK: llvm.mlir.constant(21474836480 : i64)
// CHECK: %[[TOP:.*]] = llvm.ptrtoint %[[STACK]]
// CHECK: llvm.call @record.access(%{{.*}}, %[[TOP]], %{{.*}})
llvm.func internal @f.piece0(%frame: !llvm.ptr, %k: i64) {
  llvm.call @accesses(%frame, %k) : (!llvm.ptr, i64) -> ()
  llvm.return
}

llvm.func internal @accesses(%p: !llvm.ptr, %k: i64) {
  // Four bytes are read.
  // CHECK-LABEL: llvm.func internal @accesses
  // CHECK: %[[READ:.*]] = llvm.ptrtoint
  // CHECK: llvm.call @record.access(%{{.*}}, %[[READ]], %{{.*}})
  // CHECK-NEXT: llvm.load
  %at = llvm.getelementptr %p[%k] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %x = llvm.load %at : !llvm.ptr -> f32
  // CHECK: llvm.call @record.access
  // CHECK-NEXT: llvm.store
  llvm.store %x, %at : f32, !llvm.ptr
  // CHECK: llvm.call @record.access
  // CHECK-NEXT: llvm.atomicrmw
  %old = llvm.atomicrmw fadd %at, %x monotonic : !llvm.ptr, f32
  // The stack of the function is its own.
  // CHECK: llvm.alloca
  // CHECK-NEXT: llvm.store
  %one = llvm.mlir.constant(1 : i64) : i64
  %slot = llvm.alloca %one x f32 : (i64) -> !llvm.ptr
  llvm.store %x, %slot : f32, !llvm.ptr
  llvm.return
}

// Lanes are recorded one by one, where they are on.
// CHECK-LABEL: llvm.func internal @lanes
llvm.func internal @lanes(%p: !llvm.ptr, %many: vector<2x!llvm.ptr>, %mask: vector<2xi1>, %x: vector<2xf64>) {
  // CHECK: %[[ON:.*]] = llvm.extractelement %arg2
  // CHECK: llvm.call @record.access(%[[ON]],
  // CHECK: %[[ALSO:.*]] = llvm.extractelement %arg2
  // CHECK: llvm.call @record.access(%[[ALSO]],
  // CHECK-NEXT: llvm.intr.masked.store
  llvm.intr.masked.store %x, %p, %mask {alignment = 8 : i32} : vector<2xf64>, vector<2xi1> into !llvm.ptr
  // CHECK: llvm.extractelement %arg1
  // CHECK: llvm.call @record.access
  // CHECK: llvm.extractelement %arg1
  // CHECK: llvm.call @record.access
  // CHECK-NEXT: llvm.intr.masked.scatter
  llvm.intr.masked.scatter %x, %many, %mask {alignment = 8 : i32} : vector<2xf64>, vector<2xi1> into vector<2x!llvm.ptr>
  llvm.return
}

// What a gather reads for lanes that are off is not used.
// CHECK-LABEL: llvm.func internal @unused
llvm.func internal @unused(%p: !llvm.ptr, %on: vector<2xi1>, %i: vector<2xi32>) {
  %all = llvm.mlir.constant(dense<true> : vector<2xi1>) : vector<2xi1>
  %zero = llvm.mlir.constant(dense<0> : vector<2xi32>) : vector<2xi32>
  %none = llvm.mlir.constant(dense<0.0> : vector<2xf64>) : vector<2xf64>
  // CHECK: %[[USED:.*]] = llvm.extractelement %arg1
  // CHECK: llvm.call @record.access(%[[USED]],
  %used = llvm.select %on, %i, %zero : vector<2xi1>, vector<2xi32>
  %at = llvm.getelementptr %p[%used] : (!llvm.ptr, vector<2xi32>) -> vector<2x!llvm.ptr>, f64
  %x = llvm.intr.masked.gather %at, %all, %none {alignment = 8 : i32} : (vector<2x!llvm.ptr>, vector<2xi1>, vector<2xf64>) -> vector<2xf64>
  llvm.intr.masked.scatter %x, %at, %on {alignment = 8 : i32} : vector<2xf64>, vector<2xi1> into vector<2x!llvm.ptr>
  llvm.return
}

// Memory that a piece allocates is not another's; how much it is, is in a register.
// CHECK-LABEL: llvm.func internal @allocates
llvm.func @malloc(i64) -> !llvm.ptr
llvm.func @realloc(!llvm.ptr, i64) -> !llvm.ptr
llvm.func @free(!llvm.ptr)
llvm.func internal @allocates(%n: i64) {
  // CHECK: llvm.call @malloc
  // CHECK: llvm.or %arg0
  // CHECK: llvm.call @record.access
  %p = llvm.call @malloc(%n) : (i64) -> !llvm.ptr
  // CHECK: llvm.call @realloc
  // CHECK: llvm.or %arg0
  // CHECK: llvm.call @record.access
  %q = llvm.call @realloc(%p, %n) : (!llvm.ptr, i64) -> !llvm.ptr
  // CHECK: llvm.call @record.access
  // CHECK-NEXT: llvm.call @free
  llvm.call @free(%q) : (!llvm.ptr) -> ()
  // A prefetch accesses nothing.
  // CHECK-NOT: llvm.call @record.access
  // CHECK: llvm.intr.prefetch
  "llvm.intr.prefetch"(%q) {rw = 0 : i32, hint = 3 : i32, cache = 1 : i32} : (!llvm.ptr) -> ()
  llvm.return
}

llvm.func @kernel(%share: !llvm.ptr, %frame: !llvm.ptr) {
  %piece = llvm.mlir.addressof @f.piece0 : !llvm.ptr
  llvm.call %share(%piece, %frame) : !llvm.ptr, (!llvm.ptr, !llvm.ptr) -> ()
  llvm.return
}
