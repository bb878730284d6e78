// RUN: mlirad-opt %s --split-input-file --verify-diagnostics | filecheck %s
// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --mlir-print-op-generic | mlirad-opt - --split-input-file | filecheck %s

// CHECK-LABEL: func.func @f
// CHECK: grad.undo {{.*}}
func.func @f(%l: !grad.log<f32, 1>, %m: index, %x: !field.array<f32, [16]>, %v: f32, %y: !field.array<f32, [4, 4]>) {
  "grad.undo"(%l, %m, %x) : (!grad.log<f32, 1>, index, !field.array<f32, [16]>) -> ()
  return
}

// -----

func.func @f(%l: !grad.log<f32, 1>, %m: index, %x: !field.array<f32, [16]>, %v: f32, %y: !field.array<f32, [4, 4]>) {
  // expected-error @+1 {{undo of !grad.log<f32, 1 : i64> in !field.array<f32, [4, 4]>}}
  "grad.undo"(%l, %m, %y) : (!grad.log<f32, 1>, index, !field.array<f32, [4, 4]>) -> ()
  return
}

// -----

func.func @f(%l: !grad.log<f32, 1>, %m: index, %x: !field.array<f32, [16]>, %v: f32, %y: !field.array<f32, [4, 4]>) {
  // expected-error @+1 {{undo of !grad.log<f32, 1 : i64> in f32}}
  "grad.undo"(%l, %m, %v) : (!grad.log<f32, 1>, index, f32) -> ()
  return
}

// -----

func.func @f(%l: !grad.log<f32, 1>, %m: index, %x: !field.array<f32, [16]>, %v: f32, %y: !field.array<f32, [4, 4]>) {
  // expected-error @+1 {{f32 is not a log}}
  "grad.undo"(%v, %m, %x) : (f32, index, !field.array<f32, [16]>) -> ()
  return
}

// -----

func.func @f(%l: !grad.log<f32, 1>, %m: index, %x: !field.array<!field.array<f32, [16]>, [16]>) {
  // expected-error @+1 {{undo of !grad.log<f32, 1 : i64> in !field.array<!field.array<f32, [16]>, [16]>}}
  "grad.undo"(%l, %m, %x) : (!grad.log<f32, 1>, index, !field.array<!field.array<f32, [16]>, [16]>) -> ()
  return
}
