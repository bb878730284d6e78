// RUN: mlirad-opt %s --split-input-file --verify-diagnostics

"snode.root"() ({
  "snode.place"() {sym_name = "x", element = f64, component_shape = []} : () -> ()
}) {sym_name = "S0"} : () -> ()
"snode.root"() ({
  // expected-error @below {{field 'x' is placed twice}}
  "snode.place"() {sym_name = "x", element = f64, component_shape = []} : () -> ()
}) {sym_name = "S1"} : () -> ()

// -----

"snode.root"() ({
  // expected-error @below {{the adjoint 'x' of field 'x' is the field itself}}
  "snode.place"() {sym_name = "x", element = f64, component_shape = [], adjoint = @x} : () -> ()
}) {sym_name = "S0"} : () -> ()

// -----

"snode.root"() ({
  "snode.place"() {sym_name = "x", element = f64, component_shape = [], adjoint = @g} : () -> ()
  // expected-error @below {{the adjoint 'g' of field 'y' is that of field 'x' too}}
  "snode.place"() {sym_name = "y", element = f64, component_shape = [], adjoint = @g} : () -> ()
  "snode.place"() {sym_name = "g", element = f64, component_shape = []} : () -> ()
}) {sym_name = "S0"} : () -> ()

// -----

"snode.root"() ({
  "snode.dense"() ({
    // expected-error @below {{the adjoint 'g' of field 'x' is of f64 and shape [], expected f64 and [8]}}
    "snode.place"() {sym_name = "x", element = f64, component_shape = [], adjoint = @g} : () -> ()
  }) {axes = [0], extents = [8]} : () -> ()
  "snode.place"() {sym_name = "g", element = f64, component_shape = []} : () -> ()
}) {sym_name = "S0"} : () -> ()

// -----

"snode.root"() ({
  // expected-error @below {{the dual 'd' of field 'x' is of f32 and shape [], expected f64 and []}}
  "snode.place"() {sym_name = "x", element = f64, component_shape = [], duals = [@d]} : () -> ()
  "snode.place"() {sym_name = "d", element = f32, component_shape = []} : () -> ()
}) {sym_name = "S0"} : () -> ()
