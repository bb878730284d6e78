// RUN: not mlirad-opt %s --lower-field-to-memref 2>&1 | filecheck %s

// CHECK: error: !field.array<f32, [4.000000e+00]> is not an array type
func.func @f(%x: !field.array<f32, [4.0]>) {
  return
}
