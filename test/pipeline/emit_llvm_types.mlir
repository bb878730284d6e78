// RUN: mlirad-opt %s --emit=llvm --verify-diagnostics

llvm.func @f(%n: i64) {
  // expected-error @below {{type complex<f32> of 'llvm.alloca' cannot be translated to LLVM IR}}
  %a = llvm.alloca %n x complex<f32> : (i64) -> !llvm.ptr
  llvm.return
}
