// RUN: mlirad-opt %s --lower-grid-sizes | filecheck %s
// RUN: mlirad-opt %s --lower-grid-sizes --lower-grid-sizes | filecheck %s

// CHECK-LABEL: gpu.func @f
// CHECK: %[[HIDDEN:.*]] = llvm.call_intrinsic "llvm.amdgcn.implicitarg.ptr"() : () -> !llvm.ptr<4>
// CHECK: %[[PLACE:.*]] = llvm.getelementptr %[[HIDDEN]][4] : (!llvm.ptr<4>) -> !llvm.ptr<4>, i8
// CHECK: %[[COUNT:.*]] = llvm.load %[[PLACE]] invariant {alignment = 4 : i64} : !llvm.ptr<4> -> i32
// CHECK: %[[BLOCKS:.*]] = arith.index_castui %[[COUNT]] : i32 to index
// CHECK: memref.store %[[BLOCKS]]
// CHECK-NOT: gpu.grid_dim
gpu.module @kernels {
  gpu.func @f(%m: memref<1xindex>) kernel {
    %c0 = arith.constant 0 : index
    %n = gpu.grid_dim y
    memref.store %n, %m[%c0] : memref<1xindex>
    gpu.return
  }
}
