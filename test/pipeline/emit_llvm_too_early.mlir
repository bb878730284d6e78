// RUN: mlirad-opt %s --emit=llvm --verify-diagnostics

// expected-error @+1 {{'func.func' cannot be translated to LLVM IR, expected the LLVM dialect}}
func.func @f() {
  return
}
