// RUN: mlirad-opt %s --split-input-file --verify-diagnostics | filecheck %s
// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --mlir-print-op-generic | mlirad-opt - --split-input-file | filecheck %s

// CHECK-LABEL: func.func @f
// CHECK: field.alloca : !field.array<f32, []>
func.func @f() {
  %a = "field.alloca"() : () -> !field.array<f32, []>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{a local array of extents [-1], expected positive ones}}
  %a = "field.alloca"() : () -> !field.array<f32, [-1]>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{f32 is not an array}}
  %a = "field.alloca"() : () -> f32
  return
}

// -----

// expected-error @+1 {{expected 2 type arguments, but had 1}}
func.func private @f(!field.array<f32>)
