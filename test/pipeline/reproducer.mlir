// RUN: not mlirad-opt %s --mlir-pass-pipeline-crash-reproducer=%t --cse --check-access-rules=rules=refuse 2>&1 | filecheck %s --check-prefix=NOTE
// RUN: filecheck %s --check-prefix=TEXT --input-file=%t
// RUN: not mlirad-opt %t --run-reproducer 2>&1 | filecheck %s --check-prefix=AGAIN
// RUN: not mlirad-opt %s --run-reproducer 2>&1 | filecheck %s --check-prefix=NONE
// RUN: mlirad-opt %s --mlir-pass-pipeline-crash-reproducer=%t.none --cse -o /dev/null
// RUN: not cat %t.none

// NOTE: error: the gradient needs the value of 'x'
// NOTE: mlirad-opt: note: '{{.*}}' is for --run-reproducer
// TEXT: field.store
// TEXT: mlir_reproducer: {
// TEXT-NEXT: pipeline: "builtin.module(cse,check-access-rules{rules=refuse})",
// TEXT: verify_each: true
// AGAIN: error: the gradient needs the value of 'x'
// NONE: mlirad-opt: error: the input has no 'mlir_reproducer' with a pipeline among its resources
"snode.root"() ({
  "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
  "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
}) {sym_name = "S0"} : () -> ()

func.func @f() {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, []>
  %v = "field.load"(%x) : (!field.array<f32, []>) -> f32
  %w = math.sin %v : f32
  "field.store"(%w, %x) : (f32, !field.array<f32, []>) -> ()
  return
}
