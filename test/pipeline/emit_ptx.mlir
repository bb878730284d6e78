// RUN: mlirad-opt %s --cuda-pipeline --emit=ptx --chip=sm_80 | filecheck %s

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [256]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// CHECK: .target sm_80
// CHECK: .visible .entry fill_0(
// CHECK: st.global
func.func @fill(%v: f32) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [256]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 256 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    "field.store"(%v, %x, %i) : (f32, !field.array<f32, [256]>, index) -> ()
  }
  return
}
