// RUN: mlirad-opt %s --lower-grad-logs --verify-diagnostics

func.func @log_from_elsewhere(%l: !grad.log<f32, 1>) {
  // expected-error @+1 {{a log that no 'grad.open' before it makes}}
  "grad.close"(%l) : (!grad.log<f32, 1>) -> ()
  return
}
