// RUN: mlirad-opt %s --split-input-file --verify-diagnostics | filecheck %s
// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --mlir-print-op-generic | mlirad-opt - --split-input-file | filecheck %s

// CHECK-LABEL: func.func @mixed
// CHECK: field.spell %{{.*}} : f32
func.func @mixed(%x: f32, %i: index) {
  %0 = "field.spell"(%x) : (f32) -> !field.word
  %1 = "field.spell"(%i) : (index) -> !field.word
  "field.print"(%0, %1) {format = "{} {}\0A"} : (!field.word, !field.word) -> ()
  return
}

// -----

func.func @not_a_number(%a: !field.array<f32, [2]>) {
  // expected-error @+1 {{value of type !field.array<f32, [2]>, expected a number}}
  %0 = "field.spell"(%a) : (!field.array<f32, [2]>) -> !field.word
  return
}
