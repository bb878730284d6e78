// RUN: mlirad-opt %s -o %t && filecheck %s --input-file=%t
// RUN: not mlirad-opt %s --no-such-pass -o %t 2>/dev/null && filecheck %s --input-file=%t
// RUN: not mlirad-opt %s --emit=llvm -o %t 2>/dev/null && filecheck %s --input-file=%t
// RUN: mlirad-opt %s -o /dev/stdout | filecheck %s
// RUN: mlirad-opt %s -o /dev/null

// CHECK: func.func @f
func.func @f() {
  return
}
