// RUN: mlirad-opt %s --mlir-print-op-generic --mlir-elide-elementsattrs-if-larger=3 | filecheck %s --check-prefix=GENERIC
// RUN: mlirad-opt %s --mlir-print-debuginfo --mlir-print-local-scope | filecheck %s --check-prefix=LOCAL

// GENERIC: "func.func"() <{
// GENERIC: "arith.constant"() <{value = dense_resource<__elided__> : tensor<4xi32>}>
// LOCAL-NOT: #loc
// LOCAL: return loc("{{.*}}print_style.mlir":10:3)
func.func @f() {
  %0 = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  return
}
