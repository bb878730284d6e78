// RUN: mlirad-opt %s --mark-device-atomics | filecheck %s
// RUN: mlirad-opt %s --mark-device-atomics --mark-device-atomics | filecheck %s

// CHECK-LABEL: llvm.func @f
// CHECK: llvm.atomicrmw fadd {{.*}} {rocdl.ignore_denormal_mode, rocdl.no_fine_grained_memory, rocdl.no_remote_memory}
// CHECK: llvm.atomicrmw max {{.*}} {rocdl.no_fine_grained_memory, rocdl.no_remote_memory}
llvm.func @f(%p: !llvm.ptr, %v: f32, %w: i32) {
  %0 = llvm.atomicrmw fadd %p, %v monotonic : !llvm.ptr, f32
  %1 = llvm.atomicrmw max %p, %w monotonic : !llvm.ptr, i32
  llvm.return
}
