// RUN: mlirad-opt %s --lower-field-to-memref --verify-diagnostics

func.func @unknown_user(%l: !grad.log<f32, 1>, %m: index, %x: !field.array<f32, [16]>) {
  // expected-error @+1 {{'grad.undo' on an array has no lowering}}
  "grad.undo"(%l, %m, %x) : (!grad.log<f32, 1>, index, !field.array<f32, [16]>) -> ()
  return
}
