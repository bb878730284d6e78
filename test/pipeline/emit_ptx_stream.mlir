// RUN: mlirad-opt %s --cuda-pipeline --emit=ptx --chip=sm_90 | filecheck %s

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [1048576]} : () -> ()
}) {sym_name = "S0"} : () -> ()
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "y", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [1048576]} : () -> ()
}) {sym_name = "S1"} : () -> ()
"snode.root"() ({
  "snode.place"() {sym_name = "s", element = f32, component_shape = []} : () -> ()
}) {sym_name = "S2"} : () -> ()

// 16 bytes at a time; what is only read, by way of the read-only cache; an update of an own element is
// no atomic.
// CHECK-LABEL: .visible .entry add_0(
// CHECK: .param .u64 .ptr .align 256
// CHECK: .maxntid 128, 1, 1
// CHECK: ld.global.nc.v4.b32
// CHECK: ld.global.v4.b32
// CHECK-NOT: atom.
// CHECK: st.global.v4.b32
// CHECK: ret;
func.func @add(%a: f32) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [1048576]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [1048576]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 1048576 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %v = "field.load"(%x, %i) : (!field.array<f32, [1048576]>, index) -> f32
    %w = arith.mulf %a, %v : f32
    %o = "field.atomic"(%w, %y, %i) {kind = "add"} : (f32, !field.array<f32, [1048576]>, index) -> f32
  }
  return
}

// A sum: registers, shuffles, shared memory; no atomics.
// CHECK-LABEL: .visible .entry sum_0(
// CHECK: ld.global.nc.v4.b32
// CHECK: shfl.sync
// CHECK: bar.sync
// CHECK-NOT: atom.
func.func @sum() {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [1048576]>
  %s = "field.get"() {field = @s} : () -> !field.array<f32, []>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 1048576 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %v = "field.load"(%x, %i) : (!field.array<f32, [1048576]>, index) -> f32
    %o = "field.atomic"(%v, %s) {kind = "add"} : (f32, !field.array<f32, []>) -> f32
  }
  return
}
