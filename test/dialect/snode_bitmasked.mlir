// RUN: mlirad-opt %s --split-input-file --verify-diagnostics | filecheck %s
// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --mlir-print-op-generic | mlirad-opt - --split-input-file | filecheck %s

// CHECK: snode.bitmasked [4, 8] activity(@a) {
"snode.root"() ({
  "snode.bitmasked"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
  }) {axes = [0, 1], extents = [4, 8], activity = @a} : () -> ()
}) {sym_name = "S0"} : () -> ()

// -----

"snode.root"() ({
  // expected-error @+1 {{extents [0] of a bitmasked block are not positive}}
  "snode.bitmasked"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [0], activity = @a} : () -> ()
}) {sym_name = "S0"} : () -> ()

// -----

"snode.root"() ({
  // expected-error @+1 {{the activity @a::@b is not the name of a field}}
  "snode.bitmasked"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [4], activity = @a::@b} : () -> ()
}) {sym_name = "S0"} : () -> ()

// -----

"snode.root"() ({
  // expected-error @+1 {{attribute "activity" is expected but not provided}}
  "snode.bitmasked"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [4]} : () -> ()
}) {sym_name = "S0"} : () -> ()
