// RUN: mlirad-opt %s --mark-lines=suffix=.reverse --mlir-print-debuginfo | filecheck %s
// RUN: mlirad-opt %s --mark-lines=suffix=.reverse --mark-lines=suffix=.reverse --mlir-print-debuginfo | filecheck %s
// RUN: mlirad-opt %s --mark-lines --ensure-debug-info-scope-on-llvm-func --mlir-print-debuginfo | filecheck %s --check-prefix=SCOPES

// The loop of a kernel has the name of its mode; an op without a line has that of the op before.
// CHECK: llvm.func internal @kernel.reverse.chunk0
// CHECK-NEXT: llvm.load {{.*}} loc([[FIRST:#loc[0-9]*]])
// CHECK-NEXT: llvm.call @lone({{.*}} loc([[FIRST]])
// CHECK-NEXT: llvm.fadd {{.*}} loc([[SECOND:#loc[0-9]*]])
// CHECK-NEXT: llvm.store {{.*}} loc([[SECOND]])
llvm.func internal @kernel.chunk0(%p: !llvm.ptr) {
  %x = llvm.load %p : !llvm.ptr -> f32 loc("a.py":3:1)
  llvm.call @lone(%x) : (f32) -> () loc(unknown)
  %y = llvm.fadd %x, %x : f32 loc(fused["a.py":4:2, "b.py":5:1])
  llvm.store %y, %p : f32, !llvm.ptr loc("-":1:1)
  llvm.return loc("a.py":2:1)
} loc("a.py":2:1)

// CHECK: llvm.func internal @kernel.reverse(
// CHECK-NEXT: llvm.call @kernel.reverse.chunk0
llvm.func internal @kernel(%p: !llvm.ptr) {
  llvm.call @kernel.chunk0(%p) : (!llvm.ptr) -> () loc("a.py":2:1)
  llvm.return loc("a.py":1:1)
} loc("a.py":1:1)

// The C interface is called by its name.
// CHECK: llvm.func @_mlir_ciface_kernel
// CHECK-NEXT: llvm.call @kernel.reverse
llvm.func @_mlir_ciface_kernel(%p: !llvm.ptr) {
  llvm.call @kernel(%p) : (!llvm.ptr) -> () loc("a.py":1:1)
  llvm.return loc("a.py":1:1)
} loc("a.py":1:1)

// Text has lines too, if it is all that there is.
// CHECK: llvm.func @lone
// CHECK-NEXT: llvm.return loc([[TEXT:#loc[0-9]*]])
llvm.func @lone(%x: f32) {
  llvm.return loc("-":7:1)
} loc("-":6:1)

// Code that no line made is in no line.
// CHECK: llvm.func @nowhere
llvm.func @nowhere(%x: f32) {
  llvm.call @lone(%x) : (f32) -> () loc(unknown)
  llvm.return loc(unknown)
} loc(unknown)

// CHECK-DAG: [[FIRST]] = loc("a.py":3:1)
// CHECK-DAG: [[SECOND]] = loc("a.py":4:2)
// CHECK-DAG: [[TEXT]] = loc("-":7:1)
// SCOPES: #llvm.di_subprogram{{.*}} name = "kernel.chunk0"
