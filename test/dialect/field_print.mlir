// RUN: mlirad-opt %s --split-input-file --verify-diagnostics | filecheck %s
// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --mlir-print-op-generic | mlirad-opt - --split-input-file | filecheck %s

// CHECK-LABEL: func.func @f
// CHECK: field.print "{:.3f} of {}", %{{.*}}, %{{.*}} : f32, f32
func.func @f(%x: !field.array<f32, [16, -1]>, %i: index, %v: f32) {
  "field.print"(%v, %v) {format = "{:.3f} of {}"} : (f32, f32) -> ()
  return
}

// -----

func.func @f(%x: !field.array<f32, [16, -1]>, %i: index, %v: f32) {
  // expected-error @+1 {{format with 1 places for 2 values}}
  "field.print"(%v, %v) {format = "{}"} : (f32, f32) -> ()
  return
}

// -----

func.func @f(%x: !field.array<f32, [16, -1]>, %i: index, %v: f32) {
  // expected-error @+1 {{format with 0 places for 1 values}}
  "field.print"(%v) {format = "{"} : (f32) -> ()
  return
}

// -----

func.func @f(%x: !field.array<f32, [16, -1]>, %i: index, %v: f32) {
  // expected-error @+1 {{value of type !field.array<f32, [16, -1]>, expected a number}}
  "field.print"(%x) {format = "{}"} : (!field.array<f32, [16, -1]>) -> ()
  return
}
