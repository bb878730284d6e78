// RUN: mlirad-opt %s --rocm-pipeline --emit=amdgpu | filecheck %s
// RUN: mlirad-opt %s --rocm-pipeline --emit=amdgpu --chip=gfx1100 | filecheck %s --check-prefix=SHORT

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [1048576]} : () -> ()
}) {sym_name = "S0"} : () -> ()
"snode.root"() ({
  "snode.place"() {sym_name = "s", element = f32, component_shape = []} : () -> ()
}) {sym_name = "S1"} : () -> ()

// 16 bytes at a time; groups of 32 threads, whatever a wave is; no atomics, no scratch.
// CHECK: .amdgcn_target "amdgcn-amd-amdhsa--gfx942"
// CHECK-LABEL: sum_0:
// CHECK: global_load_dwordx4
// CHECK-NOT: flat_load
// CHECK: ds_swizzle_b32 v{{.*}} offset:swizzle(SWAP,16)
// CHECK: s_barrier
// CHECK-NOT: atomic
// CHECK: s_endpgm
// CHECK: .amdhsa_private_segment_fixed_size 0
// CHECK-LABEL: sum_1:
// CHECK: .wavefront_size: 64
// SHORT: .amdgcn_target "amdgcn-amd-amdhsa--gfx1100"
// SHORT-LABEL: sum_0:
// SHORT: global_load_b128
// SHORT: ds_swizzle_b32 v{{.*}} offset:swizzle(SWAP,16)
// SHORT: .wavefront_size: 32
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
