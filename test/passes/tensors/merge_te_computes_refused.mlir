// RUN: mlirad-opt %s --merge-te-computes --verify-diagnostics

func.func @loop(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = "te.compute"() ({
  ^bb0(%i: index):
    %v = "te.read"(%x, %i) : (tensor<4xf32>, index) -> f32
    // expected-error @+1 {{'scf.for' within the definition of a tensor}}
    %w = scf.for %k = %c0 to %i step %c1 iter_args(%s = %v) -> (f32) {
      scf.yield %s : f32
    }
    "te.yield"(%w) : (f32) -> ()
  }) {label = "y"} : () -> tensor<4xf32>
  return %y : tensor<4xf32>
}
