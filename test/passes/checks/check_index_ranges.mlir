// RUN: mlirad-opt %s --check-index-ranges --split-input-file --verify-diagnostics | filecheck %s

// The last iteration reads element 8 of 8. Iterations that a condition leaves out count for nothing.
// CHECK: module attributes {field.warnings = [{place = {{.*}}, text = "the indices of this loop go 1 beyond the end of 'a' (axis 0 has 8 elements), and the access reads other memory
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "a", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [8]} : () -> ()
}) {sym_name = "S0"} : () -> ()
func.func @next(%wanted: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  %a = "field.get"() {field = @a} : () -> !field.array<f32, [8]>
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    %next = arith.addi %i, %c1 : index
    %v = "field.load"(%a, %next) : (!field.array<f32, [8]>, index) -> f32
    "field.store"(%v, %a, %i) : (f32, !field.array<f32, [8]>, index) -> ()
    scf.if %wanted {
      %far = arith.addi %i, %c3 : index
      "field.store"(%v, %a, %far) : (f32, !field.array<f32, [8]>, index) -> ()
    }
    scf.reduce
  }
  return
}

// -----

// Extents that are known at run time: the loop ends at the array's own.
// CHECK: module attributes {field.warnings = [{place = {{.*}}, text = "the indices of this loop go 1 below the start of an array argument (axis 1), and the access overwrites other memory
func.func @arrays(%a: !field.array<f32, [-1, -1]>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = "field.dim"(%a) {axis = 0 : i64} : (!field.array<f32, [-1, -1]>) -> index
  %m = "field.dim"(%a) {axis = 1 : i64} : (!field.array<f32, [-1, -1]>) -> index
  scf.parallel (%i, %j) = (%c0, %c0) to (%n, %m) step (%c1, %c1) {
    %before = arith.subi %j, %c1 : index
    "field.store"(%v, %a, %i, %before) : (f32, !field.array<f32, [-1, -1]>, index, index) -> ()
    %last = arith.subi %n, %c1 : index
    %mirrored = arith.subi %last, %i : index
    "field.store"(%v, %a, %mirrored, %j) : (f32, !field.array<f32, [-1, -1]>, index, index) -> ()
    scf.reduce
  }
  return
}

// -----

// An extent that two ops ask for is one number.
// CHECK: module attributes {field.warnings = [{place = {{.*}}, text = "the indices of this loop go 1 beyond the end of an array argument (axis 0)
func.func @extents(%a: !field.array<f32, [-1]>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = "field.dim"(%a) {axis = 0 : i64} : (!field.array<f32, [-1]>) -> index
  %m = "field.dim"(%a) {axis = 0 : i64} : (!field.array<f32, [-1]>) -> index
  scf.for %i = %c0 to %n step %c1 {
    %nothing = arith.subi %n, %m : index
    %k = arith.addi %i, %nothing : index
    "field.store"(%v, %a, %k) : (f32, !field.array<f32, [-1]>, index) -> ()
    %next = arith.addi %k, %c1 : index
    "field.store"(%v, %a, %next) : (f32, !field.array<f32, [-1]>, index) -> ()
  }
  return
}

// -----

// A write that certainly happens.
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "a", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [8]} : () -> ()
}) {sym_name = "S0"} : () -> ()
func.func @write(%v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %a = "field.get"() {field = @a} : () -> !field.array<f32, [8]>
  scf.for %i = %c0 to %c8 step %c1 {
    %twice = arith.addi %i, %i : index
    // expected-error @below {{the indices of this loop go 7 beyond the end of 'a' (axis 0 has 8 elements), and the access overwrites other memory}}
    "field.store"(%v, %a, %twice) : (f32, !field.array<f32, [8]>, index) -> ()
  }
  return
}

// -----

// Steps of 3 visit 0, 3 and 6: the greatest index is 7. Inner loops of which some are empty decide
// nothing.
// CHECK: module {
// CHECK-NOT: field.warnings
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "a", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [8]} : () -> ()
}) {sym_name = "S0"} : () -> ()
func.func @inside(%v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %a = "field.get"() {field = @a} : () -> !field.array<f32, [8]>
  scf.for %i = %c0 to %c8 step %c3 {
    %next = arith.addi %i, %c1 : index
    "field.store"(%v, %a, %next) : (f32, !field.array<f32, [8]>, index) -> ()
  }
  scf.for %i = %c0 to %c16 step %c1 {
    scf.for %j = %i to %c8 step %c1 {
      "field.store"(%v, %a, %i) : (f32, !field.array<f32, [8]>, index) -> ()
    }
  }
  return
}
