// RUN: not mlirad-opt %s 2>&1 | filecheck %s

// CHECK: {{.*}}malformed_input.mlir:8:8: error: custom op 'arith.ad' is unknown
// CHECK-NEXT: %0 = arith.ad %x, %x : f32
// CHECK-NEXT: {{^ *\^}}
// CHECK-NOT: Traceback
func.func @f(%x: f32) {
  %0 = arith.ad %x, %x : f32
  return
}
