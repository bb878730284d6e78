// RUN: mlirad-opt %s | filecheck %s
// RUN: mlirad-opt %s --mlir-print-op-generic | mlirad-opt - | filecheck %s
// RUN: mlirad-opt %s --cse --canonicalize | filecheck %s --check-prefix=READ

// CHECK-LABEL: func.func @f
// CHECK: field.sync
// What is read in front of it is read again behind it.
// READ-COUNT-2: field.load
func.func @f(%s: !field.array<f32, [32]>, %i: index) -> f32 {
  %a = "field.load"(%s, %i) : (!field.array<f32, [32]>, index) -> f32
  "field.sync"() : () -> ()
  %b = "field.load"(%s, %i) : (!field.array<f32, [32]>, index) -> f32
  %c = arith.addf %a, %b : f32
  return %c : f32
}
