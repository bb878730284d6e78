// RUN: mlirad-opt %s --verify-diagnostics

func.func @outside(%x: f32, %c: i1) {
  %r = scf.if %c -> (f32) {
    // expected-error @+1 {{'grad.yield' stands outside a region of its dialect}}
    "grad.yield"(%x) : (f32) -> ()
  } else {
    scf.yield %x : f32
  }
  return
}
