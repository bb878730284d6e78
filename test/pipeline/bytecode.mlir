// RUN: mlirad-opt %s --emit-bytecode -o %t && mlirad-opt %t --cse | filecheck %s
// RUN: mlirad-opt %s --emit=bytecode | mlirad-opt - | filecheck %s
// RUN: not mlirad-opt %t --split-input-file 2>&1 | filecheck %s --check-prefix=SPLIT

// CHECK-LABEL: func.func @f
// CHECK: field.load
// SPLIT: mlirad-opt: error: '--split-input-file' is for text, and '{{.*}}' is bytecode
func.func @f(%x: !field.array<f32, [4]>, %i: index) -> f32 {
  %v = "field.load"(%x, %i) : (!field.array<f32, [4]>, index) -> f32
  return %v : f32
}
