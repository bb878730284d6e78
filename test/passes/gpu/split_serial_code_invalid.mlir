// RUN: mlirad-opt %s --split-serial-code --verify-diagnostics

// An address that one launch finds and another uses: there is no cell for it.
func.func @address(%p: !llvm.ptr) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  // expected-error @below {{a value of type !llvm.ptr cannot cross from one launch to another}}
  %found = llvm.load %p : !llvm.ptr -> !llvm.ptr
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    %one = llvm.load %found : !llvm.ptr -> f32
    llvm.store %one, %p : f32, !llvm.ptr
    scf.reduce
  }
  return
}
