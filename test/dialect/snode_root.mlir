// RUN: mlirad-opt %s --split-input-file --verify-diagnostics | filecheck %s
// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --mlir-print-op-generic | mlirad-opt - --split-input-file | filecheck %s

// CHECK: snode.root @S0 {
"snode.root"() ({
  "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
}) {sym_name = "S0"} : () -> ()

// -----

// expected-error @+1 {{'snode.root' holds 0 blocks, expected one}}
"snode.root"() ({}) {sym_name = "S0"} : () -> ()

// -----

// expected-error @+1 {{'arith.constant' cannot be in a layout tree}}
"snode.root"() ({
  %0 = arith.constant 0 : i32
}) {sym_name = "S0"} : () -> ()

// -----

// expected-error @+1 {{attribute "sym_name" is expected but not provided}}
"snode.root"() ({
}) : () -> ()
