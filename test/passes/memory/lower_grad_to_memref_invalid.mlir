// RUN: mlirad-opt %s --lower-grad-to-memref --verify-diagnostics

func.func @stack_from_elsewhere(%s: !grad.stack<f32>) {
  // expected-error @+1 {{a stack that no 'grad.alloc' before it makes}}
  "grad.free"(%s) : (!grad.stack<f32>) -> ()
  return
}
