// RUN: mlirad-opt %s --lower-field-to-memref=alignment=256 | filecheck %s

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "y", element = f32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "z", element = f64, component_shape = [2]} : () -> ()
  }) {axes = [0], extents = [256]} : () -> ()
}) {sym_name = "S0"} : () -> ()
"snode.root"() ({
  "snode.place"() {sym_name = "r", element = f32, component_shape = [], field.result = 1} : () -> ()
}) {sym_name = "S1"} : () -> ()

// A tree starts at a multiple of 256 bytes, x with it; y 4 bytes behind, which its elements are anyway, z
// 8 bytes. Of an array, and of a result of the launch, nothing is known.
// CHECK-LABEL: func.func @f(%arg0: !llvm.ptr {llvm.noalias},
// CHECK-SAME: {field.symbol = @x, llvm.align = 256 : i64, llvm.noalias}
// CHECK-SAME: {field.symbol = @y, llvm.noalias}
// CHECK-SAME: {field.symbol = @z, llvm.noalias}
// CHECK-SAME: {field.result = 1 : i64, llvm.noalias}
func.func @f(%a: !field.array<f32, [16]>, %v: f32, %w: f64, %i: index) {
  %c1 = arith.constant 1 : index
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [256]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [256]>
  %z = "field.get"() {field = @z} : () -> !field.array<f64, [256, 2]>
  %r = "field.get"() {field = @r} : () -> !field.array<f32, []>
  "field.store"(%v, %a, %i) : (f32, !field.array<f32, [16]>, index) -> ()
  "field.store"(%v, %x, %i) : (f32, !field.array<f32, [256]>, index) -> ()
  "field.store"(%v, %y, %i) : (f32, !field.array<f32, [256]>, index) -> ()
  "field.store"(%w, %z, %i, %c1) : (f64, !field.array<f64, [256, 2]>, index, index) -> ()
  "field.store"(%v, %r) : (f32, !field.array<f32, []>) -> ()
  return
}
