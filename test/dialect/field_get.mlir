// RUN: mlirad-opt %s --split-input-file --verify-diagnostics | filecheck %s
// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --mlir-print-op-generic | mlirad-opt - --split-input-file | filecheck %s

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [3]} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// CHECK-LABEL: func.func @extents_then_components
// CHECK: !field.array<f32, [16, 3]>
func.func @extents_then_components() {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16, 3]>
  return
}

// -----

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [3]} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()

func.func @f() {
  // expected-error @+1 {{field @x is [16, 3] of f32, but is read as [16] of f32}}
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  return
}

// -----

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [3]} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()

func.func @f() {
  // expected-error @+1 {{field @x is [16, 3] of f32, but is read as [16, 3] of f64}}
  %x = "field.get"() {field = @x} : () -> !field.array<f64, [16, 3]>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{field @y is not placed in any layout tree of this module}}
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [16]>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{f32 is not an array}}
  %y = "field.get"() {field = @y} : () -> f32
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{@y::@z is not the name of a field}}
  %y = "field.get"() {field = @y::@z} : () -> !field.array<f32, [16]>
  return
}

// -----

func.func @f() {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, []>
  return
}
// expected-error @+1 {{'snode.root' holds 0 blocks, expected one}}
"snode.root"() ({}) {sym_name = "S0"} : () -> ()
