// RUN: mlirad-opt %s --split-input-file --verify-diagnostics | filecheck %s
// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --mlir-print-op-generic | mlirad-opt - --split-input-file | filecheck %s

// CHECK-LABEL: func.func @f
// CHECK: grad.close {{.*}}
func.func @f(%l: !grad.log<f32, 1>, %m: index, %x: !field.array<f32, [16]>, %v: f32, %y: !field.array<f32, [4, 4]>) {
  "grad.close"(%l) : (!grad.log<f32, 1>) -> ()
  return
}

// -----

func.func @f(%l: !grad.log<f32, 1>, %m: index, %x: !field.array<f32, [16]>, %v: f32, %y: !field.array<f32, [4, 4]>) {
  // expected-error @+1 {{f32 is not a log}}
  "grad.close"(%v) : (f32) -> ()
  return
}
