// RUN: mlirad-opt %s --mark-unrefined-estimates | filecheck %s
// RUN: mlirad-opt %s --mark-unrefined-estimates --mark-unrefined-estimates | filecheck %s

// CHECK: llvm.func @_mlir_ciface_f() attributes {passthrough = {{\[\[}}"reciprocal-estimates", "sqrtf:0"{{\]\]}}}
llvm.func @_mlir_ciface_f() attributes {llvm.passthrough = [["reciprocal-estimates", "sqrtf:0"]]} {
  llvm.return
}
// CHECK: llvm.func @other() {
llvm.func @other() {
  llvm.return
}
