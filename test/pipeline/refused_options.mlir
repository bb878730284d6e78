// RUN: not mlirad-opt %s --canonicaliz 2>&1 | filecheck %s --check-prefix=NEAR
// RUN: not mlirad-opt %s -threads=2 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not mlirad-opt %s --emit=text 2>&1 | filecheck %s --check-prefix=WORD
// RUN: not mlirad-opt %s --split-input-file=perhaps 2>&1 | filecheck %s --check-prefix=SWITCH
// RUN: not mlirad-opt %s %t 2>&1 | filecheck %s --check-prefix=TWICE
// RUN: not mlirad-opt %s -o 2>&1 | filecheck %s --check-prefix=VALUE
// RUN: not mlirad-opt %s --mlir-print-ir-after=cse,licm 2>&1 | filecheck %s --check-prefix=PASSES
// RUN: not mlirad-opt %s --mlir-elide-elementsattrs-if-larger=-3 2>&1 | filecheck %s --check-prefix=NUMBER
// RUN: not mlirad-opt %s --cse=no=1 2>&1 | filecheck %s --check-prefix=UPSTREAM
// RUN: not mlirad-opt %s --cse -p "builtin.module(cse)" 2>&1 | filecheck %s --check-prefix=BOTH

// NEAR: mlirad-opt: error: '--canonicaliz' is not an option: there is no pass 'canonicaliz'; did you mean 'canonicalize'?
// UNKNOWN: mlirad-opt: error: '-threads' is not an option: there is no pass 'threads'
// WORD: mlirad-opt: error: '--emit' is one of mlir, bytecode, llvm, asm, ptx, amdgpu, not 'text'
// SWITCH: mlirad-opt: error: '--split-input-file' is true or false, not 'perhaps'
// TWICE: refused_options.mlir', expected one of the two
// VALUE: mlirad-opt: error: '-o' needs a value, FILE
// PASSES: mlirad-opt: error: '--mlir-print-ir-after' names passes, and there is no pass 'licm'
// NUMBER: mlirad-opt: error: '--mlir-elide-elementsattrs-if-larger' is a number, not '-3'
// UPSTREAM: mlirad-opt: error: 'cse': no such option no
// BOTH: mlirad-opt: error: passes are given by '--cse' and by --pass-pipeline, expected one of the two
