// RUN: mlirad-opt %s --hoist-allocas | filecheck %s
// RUN: mlirad-opt %s --hoist-allocas --hoist-allocas | filecheck %s

// CHECK-LABEL: llvm.func @known_size
// CHECK: llvm.alloca
// CHECK: llvm.br
// CHECK-NOT: llvm.alloca
// CHECK: llvm.return
llvm.func @known_size() {
  llvm.br ^bb1
^bb1:
  %one = llvm.mlir.constant(1 : i64) : i64
  %a = llvm.alloca %one x f32 : (i64) -> !llvm.ptr
  llvm.return
}

// CHECK-LABEL: llvm.func @size_of_the_call
// CHECK: llvm.br
// CHECK: llvm.alloca %arg0
llvm.func @size_of_the_call(%n: i64) {
  llvm.br ^bb1
^bb1:
  %a = llvm.alloca %n x f32 : (i64) -> !llvm.ptr
  llvm.return
}
