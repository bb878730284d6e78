// RUN: mlirad-opt %s --mark-flows | filecheck %s
// RUN: mlirad-opt %s --mark-flows --mark-flows | filecheck %s
// CHECK: field.flows = {{\[}}{place = {{.*}}, sources = [0, @x], target = @y}]

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "y", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [8]} : () -> ()
}) {sym_name = "S0"} : () -> ()

func.func @k(%a: !field.array<f32, [8]>, %i: index) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [8]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [8]>
  %0 = "field.load"(%x, %i) : (!field.array<f32, [8]>, index) -> f32
  %1 = "field.load"(%a, %i) : (!field.array<f32, [8]>, index) -> f32
  %2 = arith.mulf %0, %1 : f32
  "field.store"(%2, %y, %i) : (f32, !field.array<f32, [8]>, index) -> ()
  return
}
