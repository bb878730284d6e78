// RUN: mlirad-opt %s --mark-relaxed-atomics | filecheck %s
// RUN: mlirad-opt %s --mark-relaxed-atomics --mark-relaxed-atomics | filecheck %s
// RUN: mlirad-opt %s --mark-relaxed-atomics=scope=agent | filecheck %s --check-prefix=AMD

// AMD: llvm.atomicrmw fadd %{{.*}}, %{{.*}} syncscope("agent") monotonic

// CHECK-LABEL: llvm.func @on_the_device
// CHECK: llvm.atomicrmw fadd %{{.*}}, %{{.*}} syncscope("device") monotonic
// CHECK: llvm.cmpxchg %{{.*}}, %{{.*}}, %{{.*}} syncscope("device") monotonic monotonic
gpu.module @kernels {
  llvm.func @on_the_device(%p: !llvm.ptr, %v: f32, %i: i32) {
    %0 = llvm.atomicrmw fadd %p, %v acq_rel : !llvm.ptr, f32
    %1 = llvm.cmpxchg %p, %i, %i acq_rel monotonic : !llvm.ptr, i32
    llvm.return
  }
}

// CHECK-LABEL: llvm.func @on_the_host
// CHECK: acq_rel
llvm.func @on_the_host(%p: !llvm.ptr, %v: f32) {
  %0 = llvm.atomicrmw fadd %p, %v acq_rel : !llvm.ptr, f32
  llvm.return
}
