// RUN: mlirad-opt %s --mark-internal-functions | filecheck %s
// RUN: mlirad-opt %s --mark-internal-functions --mark-internal-functions | filecheck %s

// What the module calls, and nobody else.
// CHECK-LABEL: llvm.func internal @piece
llvm.func @piece(%p: !llvm.ptr) attributes {sym_visibility = "private"} {
  llvm.return
}

// A kernel, which is called through its C interface.
// CHECK-LABEL: llvm.func internal @kernel
llvm.func @kernel(%p: !llvm.ptr) attributes {llvm.emit_c_interface} {
  llvm.call @piece(%p) : (!llvm.ptr) -> ()
  llvm.return
}

// CHECK-LABEL: llvm.func @_mlir_ciface_kernel
// CHECK-SAME: no_inline
llvm.func @_mlir_ciface_kernel(%p: !llvm.ptr) attributes {llvm.emit_c_interface} {
  llvm.call @kernel(%p) : (!llvm.ptr) -> ()
  llvm.return
}

// A function of another library has no body here, and others may call one that says nothing.
// CHECK-LABEL: llvm.func @sinf
llvm.func @sinf(f32) -> f32 attributes {sym_visibility = "private"}
// CHECK-LABEL: llvm.func @plain
// CHECK-NOT: no_inline
llvm.func @plain(%p: !llvm.ptr) {
  llvm.return
}
