// RUN: mlirad-opt %s --merge-te-computes | filecheck %s
// RUN: mlirad-opt %s --merge-te-computes --merge-te-computes | filecheck %s
// RUN: mlirad-opt %s --merge-te-computes 2>&1 | filecheck %s --check-prefix=SAYS

// What an expression makes of a sum stands behind the sum: one array less.
// CHECK-LABEL: func.func @epilogue
// CHECK: te.compute "y"
// CHECK: %[[S:.*]] = te.reduce
// CHECK: %[[T:.*]] = math.tanh %[[S]]
// CHECK: te.yield %[[T]] :
// CHECK: }
// CHECK-NOT: te.compute
// CHECK: return
// SAYS: remark: 's' is merged into 'y'
func.func @epilogue(%x: tensor<4x6xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c6 = arith.constant 6 : index
  %zero = arith.constant 0.0 : f32
  %s = "te.compute"() ({
  ^bb0(%i: index):
    %s = "te.reduce"(%c0, %c6, %zero) ({
    ^bb0(%k: index):
      %a = "te.read"(%x, %i, %k) : (tensor<4x6xf32>, index, index) -> f32
      "te.yield"(%a) : (f32) -> ()
    }, {
    ^bb0(%a: f32, %b: f32):
      %t = arith.addf %a, %b : f32
      "te.yield"(%t) : (f32) -> ()
    }) {kind = "sum", operandSegmentSizes = array<i32: 2, 1>} : (index, index, f32) -> f32
    "te.yield"(%s) : (f32) -> ()
  }) {label = "s"} : () -> tensor<4xf32>
  %y = "te.compute"() ({
  ^bb0(%i: index):
    %v = "te.read"(%s, %i) : (tensor<4xf32>, index) -> f32
    %t = math.tanh %v : f32
    "te.yield"(%t) : (f32) -> ()
  }) {label = "y"} : () -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// A sum that rows share is computed once for each, not for each column.
// CHECK-LABEL: func.func @broadcast
// CHECK: te.compute "s"
// CHECK: te.compute "y"
func.func @broadcast(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %c0 = arith.constant 0 : index
  %c6 = arith.constant 6 : index
  %zero = arith.constant 0.0 : f32
  %s = "te.compute"() ({
  ^bb0(%i: index):
    %s = "te.reduce"(%c0, %c6, %zero) ({
    ^bb0(%k: index):
      %a = "te.read"(%x, %i, %k) : (tensor<4x6xf32>, index, index) -> f32
      "te.yield"(%a) : (f32) -> ()
    }, {
    ^bb0(%a: f32, %b: f32):
      %t = arith.addf %a, %b : f32
      "te.yield"(%t) : (f32) -> ()
    }) {kind = "sum", operandSegmentSizes = array<i32: 2, 1>} : (index, index, f32) -> f32
    "te.yield"(%s) : (f32) -> ()
  }) {label = "s"} : () -> tensor<4xf32>
  %y = "te.compute"() ({
  ^bb0(%i: index, %j: index):
    %v = "te.read"(%s, %i) : (tensor<4xf32>, index) -> f32
    "te.yield"(%v) : (f32) -> ()
  }) {label = "y"} : () -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}

// A padded tensor goes into the sum that reads it; an exponential that is read again for each
// column stays.
// CHECK-LABEL: func.func @views
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>
// CHECK-NOT: te.compute "pad"
// CHECK: te.compute "exp"
// CHECK: te.compute "y"
// CHECK: te.reduce
// CHECK: scf.if
// CHECK: te.read %[[X]]
func.func @views(%x: tensor<4xf32>, %w: tensor<5xf32>) -> tensor<3xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %zero = arith.constant 0.0 : f32
  %pad = "te.compute"() ({
  ^bb0(%i: index):
    %holds = arith.cmpi sge, %i, %c1 : index
    %v = scf.if %holds -> (f32) {
      %before = arith.subi %i, %c1 : index
      %a = "te.read"(%x, %before) : (tensor<4xf32>, index) -> f32
      scf.yield %a : f32
    } else {
      scf.yield %zero : f32
    }
    "te.yield"(%v) : (f32) -> ()
  }) {label = "pad"} : () -> tensor<5xf32>
  %exp = "te.compute"() ({
  ^bb0(%i: index):
    %v = "te.read"(%w, %i) : (tensor<5xf32>, index) -> f32
    %t = math.exp %v : f32
    "te.yield"(%t) : (f32) -> ()
  }) {label = "exp"} : () -> tensor<5xf32>
  %y = "te.compute"() ({
  ^bb0(%i: index):
    %s = "te.reduce"(%c0, %c5, %zero) ({
    ^bb0(%k: index):
      %a = "te.read"(%pad, %k) : (tensor<5xf32>, index) -> f32
      %e = "te.read"(%exp, %k) : (tensor<5xf32>, index) -> f32
      %p = arith.mulf %a, %e : f32
      "te.yield"(%p) : (f32) -> ()
    }, {
    ^bb0(%a: f32, %b: f32):
      %t = arith.addf %a, %b : f32
      "te.yield"(%t) : (f32) -> ()
    }) {kind = "sum", operandSegmentSizes = array<i32: 2, 1>} : (index, index, f32) -> f32
    "te.yield"(%s) : (f32) -> ()
  }) {label = "y"} : () -> tensor<3xf32>
  return %y : tensor<3xf32>
}

// Definitions that say the same are one; what a function gives stays.
// CHECK-LABEL: func.func @same
// CHECK: %[[A:.*]] = te.compute "a"
// CHECK-NOT: te.compute
// CHECK: return %[[A]], %[[A]]
// SAYS: remark: merged with 'b', which is the same
func.func @same(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = "te.compute"() ({
  ^bb0(%i: index):
    %v = "te.read"(%x, %i) : (tensor<4xf32>, index) -> f32
    %t = math.exp %v : f32
    "te.yield"(%t) : (f32) -> ()
  }) {label = "a"} : () -> tensor<4xf32>
  %b = "te.compute"() ({
  ^bb0(%i: index):
    %v = "te.read"(%x, %i) : (tensor<4xf32>, index) -> f32
    %t = math.exp %v : f32
    "te.yield"(%t) : (f32) -> ()
  }) {label = "b"} : () -> tensor<4xf32>
  return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// Definitions that read the same elements in another order are two.
// CHECK-LABEL: func.func @turned
// CHECK: te.compute "a"
// CHECK: te.compute "b"
func.func @turned(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %a = "te.compute"() ({
  ^bb0(%i: index, %j: index):
    %v = "te.read"(%x, %i, %j) : (tensor<4x4xf32>, index, index) -> f32
    %t = math.exp %v : f32
    "te.yield"(%t) : (f32) -> ()
  }) {label = "a"} : () -> tensor<4x4xf32>
  %b = "te.compute"() ({
  ^bb0(%i: index, %j: index):
    %v = "te.read"(%x, %j, %i) : (tensor<4x4xf32>, index, index) -> f32
    %t = math.exp %v : f32
    "te.yield"(%t) : (f32) -> ()
  }) {label = "b"} : () -> tensor<4x4xf32>
  return %a, %b : tensor<4x4xf32>, tensor<4x4xf32>
}

// A sum that is compared stays apart: in one expression with the decision it would have to be exact, from an array it is rounded as is fast.
// CHECK-LABEL: func.func @decided
// CHECK: te.compute "s"
// CHECK: te.compute "y"
// CHECK: te.read
// CHECK: arith.cmpf
func.func @decided(%x: tensor<4x6xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c6 = arith.constant 6 : index
  %zero = arith.constant 0.0 : f32
  %s = "te.compute"() ({
  ^bb0(%i: index):
    %s = "te.reduce"(%c0, %c6, %zero) ({
    ^bb0(%k: index):
      %a = "te.read"(%x, %i, %k) : (tensor<4x6xf32>, index, index) -> f32
      "te.yield"(%a) : (f32) -> ()
    }, {
    ^bb0(%a: f32, %b: f32):
      %t = arith.addf %a, %b : f32
      "te.yield"(%t) : (f32) -> ()
    }) {kind = "sum", operandSegmentSizes = array<i32: 2, 1>} : (index, index, f32) -> f32
    "te.yield"(%s) : (f32) -> ()
  }) {label = "s"} : () -> tensor<4xf32>
  %y = "te.compute"() ({
  ^bb0(%i: index):
    %v = "te.read"(%s, %i) : (tensor<4xf32>, index) -> f32
    %n = arith.negf %v : f32
    %p = arith.cmpf ogt, %n, %zero : f32
    %t = arith.select %p, %n, %zero : f32
    "te.yield"(%t) : (f32) -> ()
  }) {label = "y"} : () -> tensor<4xf32>
  return %y : tensor<4xf32>
}
