// RUN: mlirad-opt %s --hoist-loads --cse --canonicalize --mlir-print-ir-before-all -o /dev/null 2>&1 | filecheck %s --check-prefix=BEFORE
// RUN: mlirad-opt %s --hoist-loads --cse --canonicalize --mlir-print-ir-after-all -o /dev/null 2>&1 | filecheck %s --check-prefix=AFTER
// RUN: mlirad-opt %s --hoist-loads --cse --canonicalize --mlir-print-ir-after-change -o /dev/null 2>&1 | filecheck %s --check-prefix=CHANGE
// RUN: mlirad-opt %s --hoist-loads --cse --canonicalize --mlir-print-ir-before=cse --mlir-print-ir-after=hoist-loads,canonicalize -o /dev/null 2>&1 | filecheck %s --check-prefix=SOME
// RUN: not mlirad-opt %s --cse --keep-launch=number=5 --mlir-print-ir-after-failure -o /dev/null 2>&1 | filecheck %s --check-prefix=FAILURE

// BEFORE: IR Dump Before hoist-loads //
// BEFORE: arith.mulf
// BEFORE: IR Dump Before cse //
// BEFORE: arith.mulf
// BEFORE: IR Dump Before canonicalize //
// BEFORE-NOT: arith.mulf
// BEFORE-NOT: IR Dump
// AFTER: IR Dump After hoist-loads //
// AFTER: arith.mulf
// AFTER: IR Dump After cse //
// AFTER-NOT: arith.mulf
// AFTER: IR Dump After canonicalize //
// CHANGE-NOT: IR Dump After hoist-loads
// CHANGE: IR Dump After cse //
// CHANGE-NOT: IR Dump
// SOME: IR Dump After hoist-loads //
// SOME: IR Dump Before cse //
// SOME: IR Dump After canonicalize //
// SOME-NOT: IR Dump
// FAILURE-NOT: IR Dump After cse
// FAILURE: IR Dump After keep-launch Failed //
// FAILURE: error:
func.func @f(%x: !field.array<f32, [4]>, %i: index) -> f32 {
  %v = "field.load"(%x, %i) : (!field.array<f32, [4]>, index) -> f32
  %dead = arith.mulf %v, %v : f32
  return %v : f32
}
