// RUN: mlirad-opt %s --cuda-pipeline --emit=ptx --chip=sm_90 | filecheck %s

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
  }) {axes = [0, 1], extents = [512, 512]} : () -> ()
}) {sym_name = "S0"} : () -> ()
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "y", element = f32, component_shape = []} : () -> ()
  }) {axes = [0, 1], extents = [512, 512]} : () -> ()
}) {sym_name = "S1"} : () -> ()

// Rows of a warp, eight in a block; nobody divides, and nothing is computed in 64 bits but addresses.
// CHECK-LABEL: .visible .entry shift_0(
// CHECK: .maxntid 32, 8, 1
// CHECK-NOT: {{(div|rem)\.[us]}}
// CHECK-NOT: mul.lo.s64
// CHECK: mul.wide.u32
// CHECK: ld.global.nc.b32
// CHECK: st.global.b32
// CHECK: ret;
func.func @shift() {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [512, 512]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [512, 512]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 511 : index
  scf.parallel (%i, %j) = (%c0, %c0) to (%n, %n) step (%c1, %c1) {
    %k = arith.addi %j, %c1 : index
    %v = "field.load"(%x, %i, %k) : (!field.array<f32, [512, 512]>, index, index) -> f32
    "field.store"(%v, %y, %i, %j) : (f32, !field.array<f32, [512, 512]>, index, index) -> ()
  }
  return
}

// By the root of a sum: one instruction in place of a root and a quotient.
// CHECK-LABEL: .visible .entry inverse_0(
// CHECK: rsqrt.approx{{(.ftz)?}}.f32
// CHECK-NOT: {{(div|sqrt)\.(rn|full)}}
// CHECK: st.global.b32
func.func @inverse() {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [512, 512]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [512, 512]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 512 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %s = scf.for %j = %c0 to %n step %c1 iter_args(%a = %zero) -> (f32) {
      %v = "field.load"(%x, %j, %i) : (!field.array<f32, [512, 512]>, index, index) -> f32
      %w = arith.mulf %v, %v : f32
      %u = arith.addf %w, %one : f32
      %r = math.sqrt %u : f32
      %q = arith.divf %one, %r : f32
      %b = arith.addf %a, %q : f32
      scf.yield %b : f32
    }
    "field.store"(%s, %y, %c0, %i) : (f32, !field.array<f32, [512, 512]>, index, index) -> ()
  }
  return
}
