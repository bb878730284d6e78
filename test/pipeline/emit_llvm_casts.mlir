// RUN: not mlirad-opt %s --emit=llvm 2>&1 | filecheck %s

// CHECK: {{.*}}emit_llvm_casts.mlir:4:1: error: 'builtin.unrealized_conversion_cast' cannot be translated to LLVM IR
llvm.func @f(%x: i64) {
  %0 = builtin.unrealized_conversion_cast %x : i64 to index loc(unknown)
  llvm.return
}
