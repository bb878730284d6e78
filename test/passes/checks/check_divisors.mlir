// RUN: mlirad-opt %s --check-divisors --split-input-file --verify-diagnostics

func.func @others(%x: i32, %y: i32) -> i32 {
  %two = arith.constant 2 : i32
  %a = arith.divsi %x, %two : i32
  %b = arith.remui %a, %y : i32
  return %b : i32
}

// -----

func.func @zero(%x: index) -> index {
  %c0 = arith.constant 0 : index
  // expected-error @below {{an integer division by 0}}
  %q = arith.remsi %x, %c0 : index
  return %q : index
}

// -----

func.func @an_element(%x: vector<3xi32>) -> vector<3xi32> {
  %d = arith.constant dense<[1, 0, 2]> : vector<3xi32>
  // expected-error @below {{an integer division by 0}}
  %q = arith.ceildivui %x, %d : vector<3xi32>
  return %q : vector<3xi32>
}

// -----

func.func @all_elements(%x: tensor<?xi32>, %n: index) -> tensor<8xi32> {
  %d = arith.constant dense<0> : tensor<8xi32>
  %y = tensor.cast %x : tensor<?xi32> to tensor<8xi32>
  // expected-error @below {{an integer division by 0}}
  %q = arith.floordivsi %y, %d : tensor<8xi32>
  return %q : tensor<8xi32>
}
