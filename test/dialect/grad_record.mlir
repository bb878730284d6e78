// RUN: mlirad-opt %s --split-input-file --verify-diagnostics | filecheck %s
// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --mlir-print-op-generic | mlirad-opt - --split-input-file | filecheck %s

// CHECK-LABEL: func.func @f
// CHECK: grad.record {{.*}}
func.func @f(%l: !grad.log<f32, 1>, %m: index, %x: !field.array<f32, [16]>, %v: f32, %y: !field.array<f32, [4, 4]>) {
  "grad.record"(%v, %l, %m) : (f32, !grad.log<f32, 1>, index) -> ()
  return
}

// -----

func.func @f(%l: !grad.log<f32, 1>, %m: index, %x: !field.array<f32, [16]>, %v: f32, %y: !field.array<f32, [4, 4]>) {
  // expected-error @+1 {{record in !grad.log<f32, 1 : i64>, expected !grad.log<f32, 0 : i64>}}
  "grad.record"(%v, %l) : (f32, !grad.log<f32, 1>) -> ()
  return
}

// -----

func.func @f(%l: !grad.log<f32, 1>, %m: index, %x: !field.array<f32, [16]>, %v: f32, %y: !field.array<f32, [4, 4]>) {
  // expected-error @+1 {{op expects at least 2 operands, but got 0}}
  "grad.record"() : () -> ()
  return
}
