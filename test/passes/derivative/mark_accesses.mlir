// RUN: mlirad-opt %s --mark-accesses | filecheck %s
// RUN: mlirad-opt %s --mark-accesses --mark-accesses | filecheck %s

// A linear read, which no reverse needs, an update and a store; arrays of one launch or of a block have no notes.
// CHECK: field.accesses
// CHECK-SAME: access = "read", array = @x, box = {{\[}}[array<i64: 1>, array<i64: 0, 0, 1>]]
// CHECK-SAME: access = "read", array = 1 : i64, box = {{\[}}[array<i64: 0>, array<i64: -1, 0, 1>]]
// CHECK-SAME: access = "written", array = 1 : i64
// CHECK-SAME: access = "written", array = @x, box = {{\[}}[array<i64: 0>, array<i64: -1, 0, 1>]]
// CHECK-NOT: access =
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()

func.func @f(%n: index, %a: !field.array<f32, [-1]>) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %local = "field.alloca"() : () -> !field.array<f32, [2]>
    %shared = "field.shared"() : () -> !field.array<f32, [2]>
    %j = arith.addi %i, %c1 : index
    %v = "field.load"(%x, %j) : (!field.array<f32, [16]>, index) -> f32
    "field.store"(%v, %local, %c0) : (f32, !field.array<f32, [2]>, index) -> ()
    "field.store"(%v, %shared, %c0) : (f32, !field.array<f32, [2]>, index) -> ()
    %u = "field.atomic"(%v, %a, %i) {kind = "add"} : (f32, !field.array<f32, [-1]>, index) -> f32
    "field.store"(%v, %x, %i) : (f32, !field.array<f32, [16]>, index) -> ()
  }
  return
}
