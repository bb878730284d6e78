// RUN: mlirad-opt %s --insert-address-spaces | filecheck %s
// RUN: mlirad-opt %s --insert-address-spaces --insert-address-spaces | filecheck %s

gpu.module @kernels {
  // CHECK-LABEL: llvm.func @f(%arg0: !llvm.ptr<1> {llvm.noalias}, %arg1: f32)
  // CHECK: %[[FIELD:.*]] = llvm.addrspacecast %arg0 : !llvm.ptr<1> to !llvm.ptr
  // CHECK: %[[PRIVATE:.*]] = llvm.alloca %{{.*}} x f32 : (i64) -> !llvm.ptr<5>
  // CHECK: %[[OWN:.*]] = llvm.addrspacecast %[[PRIVATE]] : !llvm.ptr<5> to !llvm.ptr
  // CHECK: llvm.intr.lifetime.start %[[PRIVATE]]
  // CHECK: llvm.store %arg1, %[[OWN]]
  // CHECK: llvm.store %{{.*}}, %[[FIELD]]
  llvm.func @f(%x: !llvm.ptr {llvm.noalias}, %v: f32) attributes {rocdl.kernel} {
    %n = llvm.mlir.constant(4 : i64) : i64
    %a = llvm.alloca %n x f32 : (i64) -> !llvm.ptr
    llvm.intr.lifetime.start %a : !llvm.ptr
    llvm.store %v, %a : f32, !llvm.ptr
    %w = llvm.load %a : !llvm.ptr -> f32
    llvm.store %w, %x : f32, !llvm.ptr
    llvm.return
  }

  // What a kernel calls takes any pointer.
  // CHECK-LABEL: llvm.func @called(%arg0: !llvm.ptr)
  llvm.func @called(%x: !llvm.ptr) {
    llvm.return
  }
}
