// RUN: mlirad-opt %s --split-input-file --verify-diagnostics | filecheck %s
// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --mlir-print-op-generic | mlirad-opt - --split-input-file | filecheck %s

// CHECK-LABEL: func.func @f
// CHECK: snode.is_active @p[%{{.*}}]
"snode.root"() ({
  "snode.pointer"() ({
    "snode.dense"() ({
      "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
    }) {axes = [0], extents = [4]} : () -> ()
  }) {axes = [0], extents = [8], activity = @p} : () -> ()
  "snode.dynamic"() ({
    "snode.place"() {sym_name = "l", element = i32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16], activity = @d} : () -> ()
}) {sym_name = "S0"} : () -> ()
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "p", element = i8, component_shape = []} : () -> ()
  }) {axes = [0], extents = [8]} : () -> ()
}) {sym_name = "p.tree"} : () -> ()
"snode.root"() ({
  "snode.place"() {sym_name = "d", element = i32, component_shape = []} : () -> ()
}) {sym_name = "d.tree"} : () -> ()
func.func @f(%i: index) {
  %0 = "snode.is_active"(%i) {activity = @p} : (index) -> i1
  return
}

// -----

func.func @f(%i: index) {
  // expected-error @+1 {{no block of this module has the activity @q}}
  %0 = "snode.is_active"(%i) {activity = @q} : (index) -> i1
  return
}

// -----

func.func @f(%i: index) {
  // expected-error @+1 {{@a::@b is not the name of a block's activity}}
  %0 = "snode.is_active"(%i) {activity = @a::@b} : (index) -> i1
  return
}

// -----

"snode.root"() ({
  "snode.pointer"() ({
    "snode.dense"() ({
      "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
    }) {axes = [0], extents = [4]} : () -> ()
  }) {axes = [0], extents = [8], activity = @p} : () -> ()
  "snode.dynamic"() ({
    "snode.place"() {sym_name = "l", element = i32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16], activity = @d} : () -> ()
}) {sym_name = "S0"} : () -> ()
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "p", element = i8, component_shape = []} : () -> ()
  }) {axes = [0], extents = [8]} : () -> ()
}) {sym_name = "p.tree"} : () -> ()
"snode.root"() ({
  "snode.place"() {sym_name = "d", element = i32, component_shape = []} : () -> ()
}) {sym_name = "d.tree"} : () -> ()
func.func @f(%i: index) {
  // expected-error @+1 {{2 indices for a block of 1 axes}}
  %0 = "snode.is_active"(%i, %i) {activity = @p} : (index, index) -> i1
  return
}
