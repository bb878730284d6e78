// RUN: mlirad-opt %s --merge-atomics | filecheck %s
// RUN: mlirad-opt %s --merge-atomics --merge-atomics | filecheck %s

// The components of a vector: 8 bytes from a multiple of 8 on, whatever is computed between.
// CHECK-LABEL: llvm.func @pair
// CHECK: %[[X:.*]] = llvm.getelementptr %arg0[%{{.*}}]
// CHECK-NEXT: %[[SECOND:.*]] = llvm.fmul
// CHECK: %[[P:.*]] = llvm.addrspacecast %[[X]] : !llvm.ptr to !llvm.ptr<1>
// CHECK-NEXT: llvm.inline_asm has_side_effects "red.relaxed.gpu.global.add.v2.f32 [$0], {$1, $2};", "l,f,f,~{memory}" %[[P]], %arg2, %[[SECOND]]
// CHECK-NOT: llvm.atomicrmw
// CHECK: llvm.return
llvm.func @pair(%p: !llvm.ptr {llvm.align = 256 : i64}, %i: i64, %v: f32) {
  %c0 = llvm.mlir.constant(0 : i64) : i64
  %c1 = llvm.mlir.constant(1 : i64) : i64
  %c2 = llvm.mlir.constant(2 : i64) : i64
  %k = llvm.mul %i, %c2 : i64
  %k0 = llvm.add %k, %c0 : i64
  %x = llvm.getelementptr %p[%k0] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %a = llvm.atomicrmw fadd %x, %v syncscope("device") monotonic : !llvm.ptr, f32
  %w = llvm.fmul %v, %v : f32
  %k1 = llvm.add %k, %c1 : i64
  %y = llvm.getelementptr %p[%k1] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %b = llvm.atomicrmw fadd %y, %w syncscope("device") monotonic : !llvm.ptr, f32
  llvm.return
}

// Derivatives come to the components in reverse order.
// CHECK-LABEL: llvm.func @reversed
// CHECK: %[[P:.*]] = llvm.addrspacecast %[[X:.*]] : !llvm.ptr to
// CHECK-NEXT: llvm.inline_asm {{.*}} %[[P]], %arg3, %arg2
// CHECK: llvm.return
llvm.func @reversed(%p: !llvm.ptr {llvm.align = 8 : i64}, %i: i64, %v: f32, %w: f32) {
  %c1 = llvm.mlir.constant(1 : i64) : i64
  %c2 = llvm.mlir.constant(2 : i64) : i64
  %k = llvm.mul %i, %c2 : i64
  %k1 = llvm.add %k, %c1 : i64
  %y = llvm.getelementptr %p[%k1] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %a = llvm.atomicrmw fadd %y, %v monotonic : !llvm.ptr, f32
  %x = llvm.getelementptr %p[%k] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %b = llvm.atomicrmw fadd %x, %w monotonic : !llvm.ptr, f32
  llvm.return
}

// Not where the first may be the second half of 8 bytes, where nothing is known of the pointer, where a
// result is used, and where memory is read in between.
// CHECK-LABEL: llvm.func @others
// CHECK-NOT: llvm.inline_asm
// CHECK: llvm.return
llvm.func @others(%p: !llvm.ptr {llvm.align = 256 : i64}, %q: !llvm.ptr, %i: i64, %v: f32) -> f32 {
  %c1 = llvm.mlir.constant(1 : i64) : i64
  %c2 = llvm.mlir.constant(2 : i64) : i64
  %i1 = llvm.add %i, %c1 : i64
  %x = llvm.getelementptr %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %y = llvm.getelementptr %p[%i1] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %0 = llvm.atomicrmw fadd %x, %v monotonic : !llvm.ptr, f32
  %1 = llvm.atomicrmw fadd %y, %v monotonic : !llvm.ptr, f32

  %k = llvm.mul %i, %c2 : i64
  %k1 = llvm.add %k, %c1 : i64
  %r = llvm.getelementptr %q[%k] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %s = llvm.getelementptr %q[%k1] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %2 = llvm.atomicrmw fadd %r, %v monotonic : !llvm.ptr, f32
  %3 = llvm.atomicrmw fadd %s, %v monotonic : !llvm.ptr, f32

  %t = llvm.getelementptr %p[%k] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %u = llvm.getelementptr %p[%k1] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %4 = llvm.atomicrmw fadd %t, %v monotonic : !llvm.ptr, f32
  %5 = llvm.atomicrmw fadd %u, %v monotonic : !llvm.ptr, f32

  %6 = llvm.atomicrmw fadd %t, %v monotonic : !llvm.ptr, f32
  %7 = llvm.load %u : !llvm.ptr -> f32
  %8 = llvm.atomicrmw fadd %u, %7 monotonic : !llvm.ptr, f32
  llvm.return %5 : f32
}

// What stands in front of a clock stays there.
// CHECK-LABEL: llvm.func @timed
// CHECK: llvm.atomicrmw
// CHECK: readcyclecounter
// CHECK: llvm.atomicrmw
llvm.func @timed(%p: !llvm.ptr {llvm.align = 8 : i64}, %v: f32) -> i64 {
  %c0 = llvm.mlir.constant(0 : i64) : i64
  %c1 = llvm.mlir.constant(1 : i64) : i64
  %x = llvm.getelementptr %p[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %a = llvm.atomicrmw fadd %x, %v monotonic : !llvm.ptr, f32
  %t = llvm.call_intrinsic "llvm.readcyclecounter"() : () -> i64
  %y = llvm.getelementptr %p[%c1] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %b = llvm.atomicrmw fadd %y, %v monotonic : !llvm.ptr, f32
  llvm.return %t : i64
}
