// RUN: mlirad-opt %s --insert-fast-math=flags=nsz --canonicalize="max-iterations=1 top-down=false" --print-ir-after-all 2>&1 | filecheck %s

// CHECK: IR Dump After insert-fast-math
// CHECK: arith.addf %{{.*}} fastmath<nsz>
// CHECK: IR Dump After canonicalize{max-iterations=1 top-down=false}
// CHECK-NOT: arith.addf
// CHECK: return %arg0
func.func @f(%x: f32) -> f32 {
  %dead = arith.addf %x, %x {field.derivative} : f32
  return %x : f32
}
