// RUN: mlirad-opt %s --split-input-file --mark-footprints | filecheck %s
// RUN: mlirad-opt %s --split-input-file --mark-footprints --mark-footprints | filecheck %s

// CHECK: access = "needed", array = @x, box = {{\[}}[array<i64: 1>, array<i64: 0, 0, 1>]]
// CHECK-SAME: access = "written", array = @y, box = {{\[}}[array<i64: 0>, array<i64: -1, 0, 1>]]
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "y", element = f32, component_shape = [], adjoint = @y.grad} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "y.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()

func.func @f(%n: index) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [16]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %j = arith.addi %i, %c1 : index
    %v = "field.load"(%x, %j) : (!field.array<f32, [16]>, index) -> f32
    %w = math.sin %v : f32
    "field.store"(%w, %y, %i) : (f32, !field.array<f32, [16]>, index) -> ()
  }
  return
}

// -----

// A linear read of an array argument with a gradient: its reverse does not need it, but a derivative passes there.
// CHECK: field.footprints
// CHECK-NOT: "needed"
// CHECK: access = "active", array = 0 : i64, box = {{\[}}[array<i64: 0>, array<i64: -1, 1, 1>]]
// CHECK-NOT: access = "active"
// CHECK: access = "written", array = @y
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "y", element = f32, component_shape = [], adjoint = @y.grad} : () -> ()
    "snode.place"() {sym_name = "y.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()

func.func @g(%a: !field.array<f32, [-1]> {field.needs_grad}, %n: index, %b: !field.array<f32, [-1]>) {
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [16]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %v = "field.load"(%a, %i) : (!field.array<f32, [-1]>, index) -> f32
    %u = "field.load"(%b, %i) : (!field.array<f32, [-1]>, index) -> f32
    %w = arith.addf %v, %u : f32
    "field.store"(%w, %y, %i) : (f32, !field.array<f32, [16]>, index) -> ()
  }
  return
}
