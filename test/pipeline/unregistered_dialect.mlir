// RUN: mlirad-opt %s --allow-unregistered-dialect | filecheck %s
// RUN: not mlirad-opt %s 2>&1 | filecheck %s --check-prefix=REFUSED

// CHECK: "other.op"() : () -> ()
// REFUSED: {{.*}}unregistered_dialect.mlir:7:{{[0-9]+}}: error:
func.func @f() {
  "other.op"() : () -> ()
  return
}
