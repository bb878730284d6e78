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

// Three cells in a row, of two components: an address of 8 aligned bytes, whose bit tells which two cells lie
// in 16. What is read from another argument does not wait for them.
// CHECK-LABEL: llvm.func @row
// CHECK: %[[MOVED:.*]] = llvm.icmp "ne"
// CHECK-COUNT-5: llvm.select %[[MOVED]]
// CHECK: llvm.inline_asm {{.*}}add.v4.f32 [$0], {$1, $2, $3, $4};", "l,f,f,f,f,~{memory}"
// CHECK-COUNT-3: llvm.select %[[MOVED]]
// CHECK: llvm.inline_asm {{.*}}add.v2.f32
// CHECK-NOT: llvm.atomicrmw
// CHECK: llvm.return
llvm.func @row(%p: !llvm.ptr {llvm.align = 256 : i64, llvm.noalias}, %q: !llvm.ptr {llvm.noalias}, %i: i32, %v: f32, %w: f32) {
  %0 = llvm.mlir.constant(0 : i64) : i64
  %1 = llvm.mlir.constant(1 : i64) : i64
  %2 = llvm.mlir.constant(2 : i64) : i64
  %one = llvm.mlir.constant(1 : i32) : i32
  %i1 = llvm.add %i, %one : i32
  %i2 = llvm.add %i1, %one : i32
  %s0 = llvm.sext %i : i32 to i64
  %s1 = llvm.sext %i1 : i32 to i64
  %s2 = llvm.sext %i2 : i32 to i64
  %m0 = llvm.mul %s0, %2 : i64
  %m1 = llvm.mul %s1, %2 : i64
  %m2 = llvm.mul %s2, %2 : i64
  %n0 = llvm.add %m0, %1 : i64
  %n1 = llvm.add %m1, %1 : i64
  %n2 = llvm.add %m2, %1 : i64
  %p0 = llvm.getelementptr %p[%m0] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %p1 = llvm.getelementptr %p[%n0] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %p2 = llvm.getelementptr %p[%m1] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %p3 = llvm.getelementptr %p[%n1] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %p4 = llvm.getelementptr %p[%m2] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %p5 = llvm.getelementptr %p[%n2] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %q0 = llvm.getelementptr %q[%s0] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %x = llvm.fmul %v, %w : f32
  %a0 = llvm.atomicrmw fadd %p0, %v monotonic : !llvm.ptr, f32
  %a1 = llvm.atomicrmw fadd %p1, %w monotonic : !llvm.ptr, f32
  %a2 = llvm.atomicrmw fadd %p2, %x monotonic : !llvm.ptr, f32
  %l = llvm.load %q0 : !llvm.ptr -> f32
  %y = llvm.fadd %l, %v : f32
  %a3 = llvm.atomicrmw fadd %p3, %y monotonic : !llvm.ptr, f32
  %z = llvm.fadd %l, %w : f32
  %a4 = llvm.atomicrmw fadd %p4, %z monotonic : !llvm.ptr, f32
  %a5 = llvm.atomicrmw fadd %p5, %v monotonic : !llvm.ptr, f32
  llvm.return
}

// Three numbers in a row: two of them are a pair.
// CHECK-LABEL: llvm.func @numbers
// CHECK: llvm.inline_asm {{.*}}add.v2.f32
// CHECK: llvm.inline_asm {{.*}}global.add.f32 [$0], $1;"
// CHECK-NOT: llvm.inline_asm
// CHECK: llvm.return
llvm.func @numbers(%p: !llvm.ptr {llvm.align = 256 : i64}, %i: i64, %v: f32, %w: f32) {
  %1 = llvm.mlir.constant(1 : i64) : i64
  %2 = llvm.mlir.constant(2 : i64) : i64
  %i1 = llvm.add %i, %1 : i64
  %i2 = llvm.add %i, %2 : i64
  %p0 = llvm.getelementptr %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %p1 = llvm.getelementptr %p[%i1] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %p2 = llvm.getelementptr %p[%i2] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %x = llvm.fmul %v, %w : f32
  %a2 = llvm.atomicrmw fadd %p2, %x monotonic : !llvm.ptr, f32
  %a0 = llvm.atomicrmw fadd %p0, %v monotonic : !llvm.ptr, f32
  %a1 = llvm.atomicrmw fadd %p1, %w monotonic : !llvm.ptr, f32
  llvm.return
}

// A matrix lies in 16 aligned bytes; one more number behind it does not join.
// CHECK-LABEL: llvm.func @matrix
// CHECK: llvm.inline_asm {{.*}}add.v4.f32
// CHECK-NOT: add.v
// CHECK: llvm.return
llvm.func @matrix(%p: !llvm.ptr {llvm.align = 16 : i64}, %i: i64, %v: f32, %w: f32) {
  %1 = llvm.mlir.constant(1 : i64) : i64
  %2 = llvm.mlir.constant(2 : i64) : i64
  %3 = llvm.mlir.constant(3 : i64) : i64
  %4 = llvm.mlir.constant(4 : i64) : i64
  %k = llvm.mul %i, %4 : i64
  %k1 = llvm.add %k, %1 : i64
  %k2 = llvm.add %k, %2 : i64
  %k3 = llvm.add %k, %3 : i64
  %k4 = llvm.add %k, %4 : i64
  %p0 = llvm.getelementptr %p[%k] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %p1 = llvm.getelementptr %p[%k1] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %p2 = llvm.getelementptr %p[%k2] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %p3 = llvm.getelementptr %p[%k3] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %p4 = llvm.getelementptr %p[%k4] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %a0 = llvm.atomicrmw fadd %p0, %v monotonic : !llvm.ptr, f32
  %a1 = llvm.atomicrmw fadd %p1, %w monotonic : !llvm.ptr, f32
  %a2 = llvm.atomicrmw fadd %p2, %v monotonic : !llvm.ptr, f32
  %a3 = llvm.atomicrmw fadd %p3, %w monotonic : !llvm.ptr, f32
  %a4 = llvm.atomicrmw fadd %p4, %w monotonic : !llvm.ptr, f32
  llvm.return
}

// Halves, of which the assembler takes the bits.
// CHECK-LABEL: llvm.func @halves
// CHECK: llvm.bitcast %arg2 : f16 to i16
// CHECK: llvm.inline_asm {{.*}}add.noftz.v2.f16 [$0], {$1, $2};", "l,h,h,~{memory}"
// CHECK: llvm.return
llvm.func @halves(%p: !llvm.ptr {llvm.align = 256 : i64}, %i: i64, %v: f16, %w: f16) {
  %1 = llvm.mlir.constant(1 : i64) : i64
  %2 = llvm.mlir.constant(2 : i64) : i64
  %k = llvm.mul %i, %2 : i64
  %k1 = llvm.add %k, %1 : i64
  %p0 = llvm.getelementptr %p[%k] : (!llvm.ptr, i64) -> !llvm.ptr, f16
  %p1 = llvm.getelementptr %p[%k1] : (!llvm.ptr, i64) -> !llvm.ptr, f16
  %a0 = llvm.atomicrmw fadd %p0, %v monotonic : !llvm.ptr, f16
  %a1 = llvm.atomicrmw fadd %p1, %w monotonic : !llvm.ptr, f16
  llvm.return
}

// An element twice: what came before is merged first.
// CHECK-LABEL: llvm.func @twice
// CHECK: llvm.inline_asm {{.*}}%arg2, %arg3
// CHECK: llvm.inline_asm {{.*}}%arg3, %arg2
// CHECK: llvm.return
llvm.func @twice(%p: !llvm.ptr {llvm.align = 8 : i64}, %i: i64, %v: f32, %w: f32) {
  %1 = llvm.mlir.constant(1 : i64) : i64
  %2 = llvm.mlir.constant(2 : i64) : i64
  %k = llvm.mul %i, %2 : i64
  %k1 = llvm.add %k, %1 : i64
  %p0 = llvm.getelementptr %p[%k] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %p1 = llvm.getelementptr %p[%k1] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %a0 = llvm.atomicrmw fadd %p0, %v monotonic : !llvm.ptr, f32
  %a1 = llvm.atomicrmw fadd %p1, %w monotonic : !llvm.ptr, f32
  %a2 = llvm.atomicrmw fadd %p1, %v monotonic : !llvm.ptr, f32
  %a3 = llvm.atomicrmw fadd %p0, %w monotonic : !llvm.ptr, f32
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
