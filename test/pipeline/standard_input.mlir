// RUN: mlirad-opt - --mlir-print-debuginfo < %s | filecheck %s

// CHECK-LABEL: func.func @f
// CHECK: loc("-":5:1)
func.func @f() {
  return
}
