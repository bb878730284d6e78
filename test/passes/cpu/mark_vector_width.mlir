// RUN: mlirad-opt %s --mark-vector-width=width=64 | filecheck %s
// RUN: mlirad-opt %s --mark-vector-width=width=32 --mark-vector-width=width=64 | filecheck %s

// CHECK-LABEL: llvm.func @kernel
// CHECK-SAME: passthrough = {{\[\[}}"prefer-vector-width", "512"]]
llvm.func @kernel(%p: !llvm.ptr) {
  llvm.return
}

// What LLVM was told before stays.
// CHECK-LABEL: llvm.func @piece
// CHECK-SAME: passthrough = ["nosync", ["prefer-vector-width", "512"]]
llvm.func @piece(%p: !llvm.ptr) attributes {passthrough = ["nosync"]} {
  llvm.return
}

// A function of another library is not compiled.
// CHECK-LABEL: llvm.func @sinf
// CHECK-NOT: passthrough
llvm.func @sinf(f32) -> f32
