// RUN: mlirad-opt %s --remove-te-zeros --canonicalize --cse | filecheck %s
// RUN: mlirad-opt %s --remove-te-zeros --canonicalize --cse --remove-te-zeros --canonicalize --cse | filecheck %s

// A sum over k <= i goes to i.
// CHECK-LABEL: func.func @triangle
// CHECK: ^bb0(%[[I:.*]]: index):
// CHECK: %[[BEHIND:.*]] = arith.addi %[[I]], %c1
// CHECK: %[[HIGH:.*]] = arith.minsi %[[BEHIND]], %c100
// CHECK: te.reduce {{[a-z]+}} [%c0{{.*}}, %[[HIGH]]] init(%cst
// CHECK-NEXT: ^bb0(%[[K:.*]]: index):
// CHECK-NEXT: %[[V:.*]] = te.read
// CHECK-NEXT: te.yield %[[V]] :
func.func @triangle(%x: tensor<100xf32>) -> tensor<100xf32> {
  %c0 = arith.constant 0 : index
  %c100 = arith.constant 100 : index
  %zero = arith.constant 0.0 : f32
  %y = "te.compute"() ({
  ^bb0(%i: index):
    %s = "te.reduce"(%c0, %c100, %zero) ({
    ^bb0(%k: index):
      %holds = arith.cmpi sle, %k, %i : index
      %v = scf.if %holds -> (f32) {
        %a = "te.read"(%x, %k) : (tensor<100xf32>, index) -> f32
        scf.yield %a : f32
      } else {
        scf.yield %zero : f32
      }
      "te.yield"(%v) : (f32) -> ()
    }, {
    ^bb0(%a: f32, %b: f32):
      %t = arith.addf %a, %b : f32
      "te.yield"(%t) : (f32) -> ()
    }) {kind = "sum", operandSegmentSizes = array<i32: 2, 1>} : (index, index, f32) -> f32
    "te.yield"(%s) : (f32) -> ()
  }) {label = "y"} : () -> tensor<100xf32>
  return %y : tensor<100xf32>
}

// The head of a Jacobian is 1 at one element: a sum over it is one term. The other condition stays.
// CHECK-LABEL: func.func @jacobian
// CHECK: ^bb0(%[[I:.*]]: index):
// CHECK: %[[LOW:.*]] = arith.maxsi %[[I]], %c0
// CHECK: te.reduce {{[a-z]+}} [%[[LOW]], %{{.*}}] init(%cst
// CHECK-NEXT: ^bb0(%[[K:.*]]: index):
// CHECK: %[[V:.*]] = te.read %{{.*}}[%[[K]]]
// CHECK: %[[D:.*]] = arith.mulf
// CHECK-NOT: te.derivative
// CHECK: te.yield
func.func @jacobian(%x: tensor<100xf32>, %one: f32) -> tensor<100xf32> {
  %c0 = arith.constant 0 : index
  %c100 = arith.constant 100 : index
  %zero = arith.constant 0.0 : f32
  %y = "te.compute"() ({
  ^bb0(%i: index):
    %s = "te.reduce"(%c0, %c100, %zero) ({
    ^bb0(%k: index):
      %here = arith.cmpi eq, %k, %i : index
      %a = "te.read"(%x, %k) : (tensor<100xf32>, index) -> f32
      %h = arith.select %here, %one, %zero : f32
      %p = arith.mulf %h, %a {te.derivative} : f32
      "te.yield"(%p) : (f32) -> ()
    }, {
    ^bb0(%a: f32, %b: f32):
      %t = arith.addf %a, %b : f32
      "te.yield"(%t) : (f32) -> ()
    }) {kind = "sum", operandSegmentSizes = array<i32: 2, 1>} : (index, index, f32) -> f32
    "te.yield"(%s) : (f32) -> ()
  }) {label = "y"} : () -> tensor<100xf32>
  return %y : tensor<100xf32>
}

// A product of the program keeps its points: 0 times an infinity is no number. So does a window.
// CHECK-LABEL: func.func @kept
// CHECK: te.reduce sum [%c0{{.*}}, %c3
// CHECK: te.reduce sum [%c0{{.*}}, %c100
func.func @kept(%x: tensor<100xf32>) -> (tensor<100xf32>, tensor<100xf32>) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c100 = arith.constant 100 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %z = "te.compute"() ({
  ^bb0(%i: index):
    %s = "te.reduce"(%c0, %c3, %zero) ({
    ^bb0(%k: index):
      %holds = arith.cmpi sle, %k, %i : index
      %v = scf.if %holds -> (f32) {
        %a = "te.read"(%x, %k) : (tensor<100xf32>, index) -> f32
        scf.yield %a : f32
      } else {
        scf.yield %zero : f32
      }
      "te.yield"(%v) : (f32) -> ()
    }, {
    ^bb0(%a: f32, %b: f32):
      %t = arith.addf %a, %b : f32
      "te.yield"(%t) : (f32) -> ()
    }) {kind = "sum", operandSegmentSizes = array<i32: 2, 1>} : (index, index, f32) -> f32
    "te.yield"(%s) : (f32) -> ()
  }) {label = "z"} : () -> tensor<100xf32>
  %y = "te.compute"() ({
  ^bb0(%i: index):
    %s = "te.reduce"(%c0, %c100, %zero) ({
    ^bb0(%k: index):
      %here = arith.cmpi sle, %k, %i : index
      %a = "te.read"(%x, %k) : (tensor<100xf32>, index) -> f32
      %h = arith.select %here, %one, %zero : f32
      %p = arith.mulf %h, %a : f32
      "te.yield"(%p) : (f32) -> ()
    }, {
    ^bb0(%a: f32, %b: f32):
      %t = arith.addf %a, %b : f32
      "te.yield"(%t) : (f32) -> ()
    }) {kind = "sum", operandSegmentSizes = array<i32: 2, 1>} : (index, index, f32) -> f32
    "te.yield"(%s) : (f32) -> ()
  }) {label = "y"} : () -> tensor<100xf32>
  return %z, %y : tensor<100xf32>, tensor<100xf32>
}

// Adjoints that are 0 go: what is left is the other part.
// CHECK-LABEL: func.func @zeros
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>
// CHECK-NOT: te.compute "zeros"
// CHECK: %[[V:.*]] = te.read %[[X]]
// CHECK-NEXT: te.yield %[[V]] :
func.func @zeros(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %z = "te.compute"() ({
  ^bb0(%i: index):
    "te.yield"(%zero) : (f32) -> ()
  }) {label = "zeros"} : () -> tensor<4xf32>
  %y = "te.compute"() ({
  ^bb0(%i: index):
    %v = "te.read"(%x, %i) : (tensor<4xf32>, index) -> f32
    %u = "te.read"(%z, %i) : (tensor<4xf32>, index) -> f32
    %p = arith.mulf %u, %v {te.derivative} : f32
    %s = arith.addf %v, %p {te.derivative} : f32
    "te.yield"(%s) : (f32) -> ()
  }) {label = "y"} : () -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// A condition that always holds is none; where one never holds nothing is read.
// CHECK-LABEL: func.func @known
// CHECK-NOT: arith.cmpi
// CHECK: te.compute
// CHECK-NEXT: ^bb0(%[[I:.*]]: index):
// CHECK-NEXT: %[[V:.*]] = te.read {{.*}}[%[[I]]]
// CHECK-NEXT: te.yield %[[V]] :
func.func @known(%x: tensor<8xf32>) -> tensor<8xf32> {
  %c7 = arith.constant 7 : index
  %c9 = arith.constant 9 : index
  %zero = arith.constant 0.0 : f32
  %y = "te.compute"() ({
  ^bb0(%i: index):
    %always = arith.cmpi sle, %i, %c7 : index
    %never = arith.cmpi eq, %i, %c9 : index
    %v = scf.if %always -> (f32) {
      %a = "te.read"(%x, %i) : (tensor<8xf32>, index) -> f32
      scf.yield %a : f32
    } else {
      scf.yield %zero : f32
    }
    %w = scf.if %never -> (f32) {
      %a = "te.read"(%x, %c7) : (tensor<8xf32>, index) -> f32
      scf.yield %a : f32
    } else {
      scf.yield %v : f32
    }
    "te.yield"(%w) : (f32) -> ()
  }) {label = "y"} : () -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// Of 16 c + 4 i + j, i and j below 4, the quotient by 16 is c; that by 8 is not known.
// CHECK-LABEL: func.func @quotients
// CHECK: ^bb0(%[[C:.*]]: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK: %[[BEHIND:.*]] = arith.addi %[[C]], %c1
// CHECK: arith.floordivsi %{{.*}}, %c8
// CHECK-NOT: arith.floordivsi
// CHECK-NOT: arith.ceildivsi
// CHECK: te.reduce {{[a-z]+}} [%[[C]], %[[BEHIND]]] init(%cst
func.func @quotients(%x: tensor<256xf32>) -> tensor<16x4x4xf32> {
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  %y = "te.compute"() ({
  ^bb0(%c: index, %i: index, %j: index):
    %rows = arith.muli %c, %c16 : index
    %row = arith.muli %i, %c4 : index
    %rest = arith.addi %row, %j : index
    %from = arith.subi %rows, %rest : index
    %low = arith.ceildivsi %from, %c16 : index
    %place = arith.addi %rows, %rest : index
    %next = arith.addi %place, %c16 : index
    %high = arith.floordivsi %next, %c16 : index
    %half = arith.floordivsi %place, %c8 : index
    %s = "te.reduce"(%low, %high, %zero) ({
    ^bb0(%k: index):
      %at = arith.addi %k, %half : index
      %v = "te.read"(%x, %at) : (tensor<256xf32>, index) -> f32
      "te.yield"(%v) : (f32) -> ()
    }, {
    ^bb0(%a: f32, %b: f32):
      %t = arith.addf %a, %b : f32
      "te.yield"(%t) : (f32) -> ()
    }) {kind = "sum", operandSegmentSizes = array<i32: 2, 1>} : (index, index, f32) -> f32
    "te.yield"(%s) : (f32) -> ()
  }) {label = "y"} : () -> tensor<16x4x4xf32>
  return %y : tensor<16x4x4xf32>
}

// What was cast is no index: its quotient stays.
// CHECK-LABEL: func.func @quotient_of_data
// CHECK: arith.index_cast
// CHECK: arith.floordivsi
func.func @quotient_of_data(%rows: tensor<8xi32>, %x: tensor<64xf32>) -> tensor<8xf32> {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %y = "te.compute"() ({
  ^bb0(%i: index):
    %row = "te.read"(%rows, %i) : (tensor<8xi32>, index) -> i32
    %place = arith.index_cast %row : i32 to index
    %rows4 = arith.muli %place, %c4 : index
    %more = arith.addi %rows4, %c1 : index
    %at = arith.floordivsi %more, %c4 : index
    %v = "te.read"(%x, %at) : (tensor<64xf32>, index) -> f32
    "te.yield"(%v) : (f32) -> ()
  }) {label = "y"} : () -> tensor<8xf32>
  return %y : tensor<8xf32>
}
