// RUN: mlirad-opt %s --split-input-file --verify-diagnostics | filecheck %s
// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --mlir-print-op-generic | mlirad-opt - --split-input-file | filecheck %s

// CHECK: snode.dense [4, 8] {
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
  }) {axes = [0, 1], extents = [4, 8]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// -----

"snode.root"() ({
  // expected-error @+1 {{a dense block has 2 axes and 1 extents, expected as many}}
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
  }) {axes = [0, 1], extents = [4]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// -----

"snode.root"() ({
  // expected-error @+1 {{a dense block has 0 axes and 0 extents, expected as many}}
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
  }) {axes = [], extents = []} : () -> ()
}) {sym_name = "S0"} : () -> ()

// -----

"snode.root"() ({
  // expected-error @+1 {{axes [0, 0] of a dense block are not distinct and non-negative}}
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
  }) {axes = [0, 0], extents = [4, 8]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// -----

"snode.root"() ({
  // expected-error @+1 {{axes [-1] of a dense block are not distinct and non-negative}}
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
  }) {axes = [-1], extents = [4]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// -----

"snode.root"() ({
  // expected-error @+1 {{extents [0] of a dense block are not positive}}
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [0]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// -----

"snode.root"() ({
  // expected-error @+1 {{axes and extents of a dense block are not all integers}}
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [4.0]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// -----

// expected-error @+1 {{'snode.dense' stands outside a layout tree}}
"snode.dense"() ({
}) {axes = [0], extents = [4]} : () -> ()
