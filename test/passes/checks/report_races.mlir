// RUN: mlirad-opt %s --report-races --split-input-file | filecheck %s

// Along the second axis an iteration reads what the one before it writes.
// CHECK: module attributes {field.warnings = [{place = {{.*}}, text = "'a' is read here and written by another iteration of the same parallel loop
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "a", element = f32, component_shape = []} : () -> ()
  }) {axes = [0, 1], extents = [8, 9]} : () -> ()
}) {sym_name = "S0"} : () -> ()
func.func @along_a_row() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %a = "field.get"() {field = @a} : () -> !field.array<f32, [8, 9]>
  scf.parallel (%i, %j) = (%c0, %c0) to (%c8, %c8) step (%c1, %c1) {
    %next = arith.addi %j, %c1 : index
    %v = "field.load"(%a, %i, %j) : (!field.array<f32, [8, 9]>, index, index) -> f32
    "field.store"(%v, %a, %i, %next) : (f32, !field.array<f32, [8, 9]>, index, index) -> ()
    scf.reduce
  }
  return
}

// -----

// An iteration that reads and writes its own element; a serial loop.
// CHECK: module {
// CHECK-NOT: field.warnings
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "a", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [9]} : () -> ()
}) {sym_name = "S0"} : () -> ()
func.func @own() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %a = "field.get"() {field = @a} : () -> !field.array<f32, [9]>
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    %v = "field.load"(%a, %i) : (!field.array<f32, [9]>, index) -> f32
    "field.store"(%v, %a, %i) : (f32, !field.array<f32, [9]>, index) -> ()
    scf.reduce
  }
  scf.for %i = %c0 to %c8 step %c1 {
    %next = arith.addi %i, %c1 : index
    %v = "field.load"(%a, %i) : (!field.array<f32, [9]>, index) -> f32
    "field.store"(%v, %a, %next) : (f32, !field.array<f32, [9]>, index) -> ()
  }
  return
}
