// RUN: mlirad-opt %s --remove-activations | filecheck %s
// RUN: mlirad-opt %s --remove-activations --remove-activations | filecheck %s

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

// CHECK-LABEL: func.func @tested
// CHECK: scf.if
// CHECK-NOT: snode.activate
// CHECK: else
// CHECK-NEXT: snode.activate
func.func @tested(%i: index) {
  %a = "snode.is_active"(%i) {activity = @p} : (index) -> i1
  scf.if %a {
    "snode.activate"(%i) {activity = @p} : (index) -> ()
  } else {
    "snode.activate"(%i) {activity = @p} : (index) -> ()
  }
  return
}

// CHECK-LABEL: func.func @again
// CHECK-COUNT-2: snode.activate
// CHECK-NOT: snode.activate
func.func @again(%i: index, %j: index) {
  "snode.activate"(%i) {activity = @p} : (index) -> ()
  "snode.activate"(%j) {activity = @p} : (index) -> ()
  "snode.activate"(%i) {activity = @p} : (index) -> ()
  return
}

// Another cell may be deactivated, by any iteration.
// CHECK-LABEL: func.func @deactivated
// CHECK-COUNT-3: snode.activate
func.func @deactivated(%i: index, %j: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  "snode.activate"(%i) {activity = @p} : (index) -> ()
  "snode.deactivate"(%j) {activity = @p} : (index) -> ()
  "snode.activate"(%i) {activity = @p} : (index) -> ()
  scf.parallel (%k) = (%c0) to (%c8) step (%c1) {
    %a = "snode.is_active"(%k) {activity = @p} : (index) -> i1
    scf.if %a {
      "snode.activate"(%k) {activity = @p} : (index) -> ()
      "snode.deactivate"(%j) {activity = @p} : (index) -> ()
    }
    scf.reduce
  }
  return
}
