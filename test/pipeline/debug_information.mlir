// RUN: mlirad-opt %s --mlir-print-debuginfo -o %t && filecheck %s --input-file=%t

// CHECK: loc("{{.*}}debug_information.mlir":5:3)
func.func @f() {
  return
}
