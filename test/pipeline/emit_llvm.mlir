// RUN: mlirad-opt %s --cpu-pipeline=threads=2 --emit=llvm | filecheck %s
// RUN: mlirad-opt %s --cpu-pipeline=threads=2 --emit=llvm 2>&1 >/dev/null | filecheck %s --check-prefix=QUIET --allow-empty

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [1000000]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// CHECK-LABEL: define internal void @fill(
// CHECK: call void %{{.*}}(ptr %{{.*}}, ptr @fill.piece0, ptr %{{.*}}, i64 8, i64 2)
// CHECK-LABEL: define {{.*}}void @fill.chunk0(
// CHECK: store float
// Nothing is said of what parameters are.
// QUIET-NOT: warning
func.func @fill(%v: f32 {field.argument = 0 : i64}) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [1000000]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 1000000 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    "field.store"(%v, %x, %i) : (f32, !field.array<f32, [1000000]>, index) -> ()
  }
  return
}
