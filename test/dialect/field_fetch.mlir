// RUN: mlirad-opt %s --split-input-file --verify-diagnostics

func.func @known(%a: index, %b: index) -> index {
  %m, %n = "field.fetch"(%a, %b) : (index, index) -> (index, index)
  %sum = arith.addi %m, %n : index
  return %sum : index
}

// -----

func.func @lost(%a: index, %b: index) {
  // expected-error @+1 {{2 values are given, 1 are known}}
  %m = "field.fetch"(%a, %b) : (index, index) -> index
  return
}
