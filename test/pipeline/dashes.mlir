// RUN: mlirad-opt %s -cse | filecheck %s
// RUN: mlirad-opt %s -pass-pipeline="builtin.module(cse)" | filecheck %s
// RUN: mlirad-opt %s --pass-pipeline "builtin.module(cse)" | filecheck %s
// RUN: mlirad-opt %s -p="func.func(cse)" -emit=mlir | filecheck %s
// RUN: mlirad-opt -hoist-loads -cse -- %s | filecheck %s

// CHECK-LABEL: func.func @f
// CHECK-NEXT: return
func.func @f(%x: f32) -> f32 {
  %dead = arith.addf %x, %x : f32
  return %x : f32
}
