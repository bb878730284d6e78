// RUN: mlirad-opt %s --check-gradient-arguments --split-input-file --verify-diagnostics | filecheck %s
// RUN: mlirad-opt %s --check-gradient-arguments --check-gradient-arguments --split-input-file --verify-diagnostics | filecheck %s

// A step down the gradient of one array; a derivative passes through another.
// CHECK-LABEL: func.func @apart(
func.func @apart(%a: !field.array<f32, [-1]> {field.needs_grad}, %g: !field.array<f32, [-1]> {field.gradient}, %b: !field.array<f32, [-1]> {field.needs_grad}, %i: index) {
  %n = "field.dim"(%a) {axis = 0} : (!field.array<f32, [-1]>) -> index
  %v = "field.load"(%g, %i) : (!field.array<f32, [-1]>, index) -> f32
  %u = "field.load"(%b, %i) : (!field.array<f32, [-1]>, index) -> f32
  %w = arith.mulf %u, %u : f32
  "field.store"(%w, %b, %i) : (f32, !field.array<f32, [-1]>, index) -> ()
  "field.store"(%v, %g, %n) : (f32, !field.array<f32, [-1]>, index) -> ()
  return
}

// -----

func.func @one(%a: !field.array<f32, [-1]> {field.needs_grad}, %g: !field.array<f32, [-1]> {field.gradient}, %i: index) {
  %u = "field.load"(%a, %i) : (!field.array<f32, [-1]>, index) -> f32
  // expected-error @below {{the gradient of an array argument is used in a kernel through which a derivative passes}}
  %v = "field.load"(%g, %i) : (!field.array<f32, [-1]>, index) -> f32
  %w = arith.subf %u, %v : f32
  "field.store"(%w, %a, %i) : (f32, !field.array<f32, [-1]>, index) -> ()
  return
}

// -----

func.func @through(%a: !field.array<f32, [-1]> {field.needs_grad}, %g: !field.array<f32, [-1]> {field.gradient}, %b: !field.array<f32, [-1]> {field.needs_grad}, %i: index) {
  %v = "field.load"(%g, %i) : (!field.array<f32, [-1]>, index) -> f32
  // expected-error @below {{Cannot automatically differentiate through a grad tensor}}
  "field.store"(%v, %b, %i) : (f32, !field.array<f32, [-1]>, index) -> ()
  return
}
