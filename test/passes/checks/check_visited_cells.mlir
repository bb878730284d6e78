// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --check-visited-cells | filecheck %s

"snode.root"() ({
  "snode.pointer"() ({
    "snode.dense"() ({
      "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
    }) {axes = [0], extents = [4]} : () -> ()
  }) {axes = [0], extents = [8], activity = @p} : () -> ()
}) {sym_name = "S0"} : () -> ()
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "p", element = i8, component_shape = []} : () -> ()
  }) {axes = [0], extents = [8]} : () -> ()
}) {sym_name = "p.tree"} : () -> ()

// The cell at which the loop is, a question of the program's own, and a loop around are no matter.
// CHECK-LABEL: func.func @accepted
// CHECK: snode.deactivate
func.func @accepted(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %k = %c0 to %n step %c1 {
    scf.for %i = %c0 to %n step %c1 {
      %a = "snode.is_active"(%i) {activity = @p, visits} : (index) -> i1
      scf.if %a {
        "snode.deactivate"(%i) {activity = @p} : (index) -> ()
      }
    }
    %b = "snode.is_active"(%k) {activity = @p} : (index) -> i1
    scf.if %b {
      %next = arith.addi %k, %c1 : index
      "snode.activate"(%next) {activity = @p} : (index) -> ()
    }
  }
  return
}

// -----

"snode.root"() ({
  "snode.pointer"() ({
    "snode.dense"() ({
      "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
    }) {axes = [0], extents = [4]} : () -> ()
  }) {axes = [0], extents = [8], activity = @p} : () -> ()
}) {sym_name = "S0"} : () -> ()
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "p", element = i8, component_shape = []} : () -> ()
  }) {axes = [0], extents = [8]} : () -> ()
}) {sym_name = "p.tree"} : () -> ()

func.func @refused(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    // expected-error@+1 {{a serial loop over active elements changes which elements are active}}
    %a = "snode.is_active"(%i) {activity = @p, visits} : (index) -> i1
    scf.if %a {
      %next = arith.addi %i, %c1 : index
      "snode.activate"(%next) {activity = @p} : (index) -> ()
    }
  }
  return
}
