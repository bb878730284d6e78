// RUN: mlirad-opt %s --split-input-file --verify-diagnostics | filecheck %s
// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --mlir-print-op-generic | mlirad-opt - --split-input-file | filecheck %s

// CHECK: snode.place @x [3] : f64 adjoint(@x.grad)
"snode.root"() ({
  "snode.place"() {sym_name = "x", element = f64, component_shape = [3], adjoint = @x.grad} : () -> ()
}) {sym_name = "S0"} : () -> ()

// -----

"snode.root"() ({
  // expected-error @+1 {{a field of f80, expected one of}}
  "snode.place"() {sym_name = "x", element = f80, component_shape = []} : () -> ()
}) {sym_name = "S0"} : () -> ()

// -----

"snode.root"() ({
  // expected-error @+1 {{component shape [0] is not of positive integers}}
  "snode.place"() {sym_name = "x", element = f32, component_shape = [0]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// -----

"snode.root"() ({
  // expected-error @+1 {{component shape ["a"] is not of positive integers}}
  "snode.place"() {sym_name = "x", element = f32, component_shape = ["a"]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// -----

"snode.root"() ({
  // expected-error @+1 {{the duals ["y"] are not names of fields}}
  "snode.place"() {sym_name = "x", element = f32, component_shape = [], duals = ["y"]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// -----

// expected-error @+1 {{'snode.place' stands outside a layout tree}}
"snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
