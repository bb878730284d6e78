// RUN: mlirad-opt %s --emit=asm --verify-diagnostics

llvm.func @sum(%a: f32, %b: f32) -> f32 {
  // expected-error @below {{'arith.addf' cannot become assembly, expected the module behind the cpu pipeline}}
  %0 = arith.addf %a, %b : f32
  llvm.return %0 : f32
}
