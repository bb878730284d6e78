// RUN: not mlirad-opt %s -p "builtin.modul(cse)" 2>&1 | filecheck %s --check-prefix=ROOT
// RUN: not mlirad-opt %s -p "func.fun(cse)" 2>&1 | filecheck %s --check-prefix=FUNCTION
// RUN: not mlirad-opt %s -p "builtin.module(func.func(scf.fo(hoist-loads)))" 2>&1 | filecheck %s --check-prefix=INNER
// RUN: not mlirad-opt %s -p "builtin.module(func.func(arith.addf(hoist-loads)))" 2>&1 | filecheck %s --check-prefix=OPEN
// RUN: not mlirad-opt %s -p "builtin.module(func.func(check-races))" 2>&1 | filecheck %s --check-prefix=MODULE
// RUN: not mlirad-opt %s --no-implicit-module -p "builtin.module(cse)" 2>&1 | filecheck %s --check-prefix=OTHER

// ROOT: mlirad-opt: error: 'builtin.modul' is not the name of an operation
// FUNCTION: mlirad-opt: error: 'func.fun' is not the name of an operation
// INNER: mlirad-opt: error: 'scf.fo' is not the name of an operation
// OPEN: {{.*}}refused_anchors.mlir:15:8: error: passes cannot run on 'arith.addf', which is not isolated from above
// MODULE: mlirad-opt: error: 'check-races' runs on 'builtin.module', not on 'func.func'
// OTHER: mlirad-opt: error: a pipeline for 'builtin.module' cannot run on 'func.func'
func.func @f(%x: f32) -> f32 {
  %0 = arith.addf %x, %x : f32
  return %0 : f32
}
