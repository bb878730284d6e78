// RUN: mlirad-opt %s --split-input-file --verify-diagnostics | filecheck %s
// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --mlir-print-op-generic | mlirad-opt - --split-input-file | filecheck %s

// CHECK-LABEL: func.func @f
// CHECK: field.shared : !field.array<f32, [32]>
func.func @f() {
  %s = "field.shared"() : () -> !field.array<f32, [32]>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{a shared array of extents [0], expected positive ones}}
  %s = "field.shared"() : () -> !field.array<f32, [0]>
  return
}
