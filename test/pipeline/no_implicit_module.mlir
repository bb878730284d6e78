// RUN: mlirad-opt %s --no-implicit-module --cse --hoist-loads | filecheck %s
// RUN: mlirad-opt %s --no-implicit-module -p "func.func(cse)" | filecheck %s
// RUN: not mlirad-opt %s --no-implicit-module --lower-field-assert 2>&1 | filecheck %s --check-prefix=MODULE

// CHECK-NOT: module
// CHECK: func.func @f
// CHECK-NEXT: return
// MODULE: mlirad-opt: error: 'lower-field-assert' runs on 'builtin.module', not on 'func.func'
func.func @f(%x: f32) -> f32 {
  %dead = arith.addf %x, %x : f32
  return %x : f32
}
