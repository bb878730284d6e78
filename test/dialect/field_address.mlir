// RUN: mlirad-opt %s --split-input-file --verify-diagnostics | filecheck %s
// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --mlir-print-op-generic | mlirad-opt - --split-input-file | filecheck %s

// CHECK-LABEL: func.func @f
// CHECK: field.address %{{.*}}[%{{.*}}]
func.func @f(%x: !field.array<f32, [16]>, %i: index) -> i64 {
  %a = "field.address"(%x, %i) : (!field.array<f32, [16]>, index) -> i64
  return %a : i64
}

// -----

func.func @f(%x: !field.array<f32, [16]>) -> i64 {
  // expected-error @+1 {{0 indices for an array of rank 1}}
  %a = "field.address"(%x) : (!field.array<f32, [16]>) -> i64
  return %a : i64
}
