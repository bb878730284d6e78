// RUN: mlirad-opt %s --expand-derivatives --verify-diagnostics

func.func @f(%x: f64) -> f64 {
  %r:2 = "grad.dual"(%x, %x) ({
  ^bb0(%a: f64):
    // expected-error @+1 {{no derivative rule for 'math.clampf'}}
    %b = math.clampf %a to [%a, %a] : f64
    "grad.yield"(%b) : (f64) -> ()
  }) {directions = 1} : (f64, f64) -> (f64, f64)
  return %r#1 : f64
}
