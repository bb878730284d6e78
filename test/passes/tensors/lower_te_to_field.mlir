// RUN: mlirad-opt %s --lower-te-to-field | filecheck %s
// RUN: mlirad-opt %s --lower-te-to-field --lower-te-to-field | filecheck %s

// A product: the arrays of the inputs, then that of what is defined.
// CHECK-LABEL: func.func @product
// CHECK-SAME: (%[[X:.*]]: !field.array<f32, [4, 6]> {field.argument = 0 : i64}, %[[W:.*]]: !field.array<f32, [6, 3]> {field.argument = 1 : i64}, %[[Y:.*]]: !field.array<f32, [4, 3]> {field.argument = 2 : i64})
// CHECK: scf.parallel (%[[I:.*]], %[[J:.*]]) =
// CHECK: %[[SUM:.*]] = scf.for %[[K:.*]] = %{{.*}} iter_args(%[[S:.*]] = %{{.*}}) -> (f32)
// CHECK: field.load %[[X]][%[[I]], %[[K]]]
// CHECK-NEXT: field.load %[[W]][%[[K]], %[[J]]]
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: arith.addf %[[S]]
// CHECK: field.store %[[SUM]], %[[Y]][%[[I]], %[[J]]]
// CHECK: return{{$}}
func.func @product(%x: tensor<4x6xf32>, %w: tensor<6x3xf32>) -> tensor<4x3xf32> {
  %c0 = arith.constant 0 : index
  %c6 = arith.constant 6 : index
  %zero = arith.constant 0.0 : f32
  %y = "te.compute"() ({
  ^bb0(%i: index, %j: index):
    %s = "te.reduce"(%c0, %c6, %zero) ({
    ^bb0(%k: index):
      %a = "te.read"(%x, %i, %k) : (tensor<4x6xf32>, index, index) -> f32
      %b = "te.read"(%w, %k, %j) : (tensor<6x3xf32>, index, index) -> f32
      %p = arith.mulf %a, %b : f32
      "te.yield"(%p) : (f32) -> ()
    }, {
    ^bb0(%a: f32, %b: f32):
      %t = arith.addf %a, %b : f32
      "te.yield"(%t) : (f32) -> ()
    }) {kind = "sum", operandSegmentSizes = array<i32: 2, 1>} : (index, index, f32) -> f32
    "te.yield"(%s) : (f32) -> ()
  }) {label = "y"} : () -> tensor<4x3xf32>
  return %y : tensor<4x3xf32>
}

// A sum over everything is one parallel loop of updates.
// CHECK-LABEL: func.func @total
// CHECK: field.store %{{.*}}, %[[T:.*]][]
// CHECK: scf.parallel
// CHECK: field.atomic add %{{.*}}, %[[T]][]
func.func @total(%x: tensor<5xf32>) -> tensor<f32> {
  %c0 = arith.constant 0 : index
  %c5 = arith.constant 5 : index
  %zero = arith.constant 0.0 : f32
  %y = "te.compute"() ({
    %s = "te.reduce"(%c0, %c5, %zero) ({
    ^bb0(%k: index):
      %a = "te.read"(%x, %k) : (tensor<5xf32>, index) -> f32
      "te.yield"(%a) : (f32) -> ()
    }, {
    ^bb0(%a: f32, %b: f32):
      %t = arith.addf %a, %b : f32
      "te.yield"(%t) : (f32) -> ()
    }) {kind = "sum", operandSegmentSizes = array<i32: 2, 1>} : (index, index, f32) -> f32
    "te.yield"(%s) : (f32) -> ()
  }) {label = "total"} : () -> tensor<f32>
  return %y : tensor<f32>
}

// What is added where data say: cleared first, then updates.
// CHECK-LABEL: func.func @spread
// CHECK: scf.parallel
// CHECK: field.store
// CHECK: scf.parallel
// CHECK: scf.if
// CHECK: field.atomic add %{{.*}}
func.func @spread(%x: tensor<5xf32>, %at: tensor<5xi32>) -> tensor<9xf32> {
  %c5 = arith.constant 5 : index
  %y = "te.scatter"(%c5) ({
  ^bb0(%i: index):
    %v = "te.read"(%x, %i) : (tensor<5xf32>, index) -> f32
    %k = "te.read"(%at, %i) : (tensor<5xi32>, index) -> i32
    %j = arith.index_cast %k : i32 to index
    %c9 = arith.constant 9 : index
    %inside = arith.cmpi ult, %j, %c9 : index
    "te.put"(%inside, %v, %j) : (i1, f32, index) -> ()
  }) {label = "y"} : (index) -> tensor<9xf32>
  return %y : tensor<9xf32>
}

// A recurrence: steps are a loop in that over the box.
// CHECK-LABEL: func.func @decay
// CHECK: scf.parallel (%[[I:.*]]) =
// CHECK: field.store %{{.*}}, %[[H:.*]][%{{.*}}, %[[I]]]
// CHECK: scf.for
// CHECK: field.store %{{.*}}, %[[H]][%{{.*}}, %[[I]]]
func.func @decay(%x: tensor<3xf32>) -> tensor<11x3xf32> {
  %half = arith.constant 0.5 : f32
  %h = "te.scan"() ({
  ^bb0(%i: index):
    %v = "te.read"(%x, %i) : (tensor<3xf32>, index) -> f32
    "te.yield"(%v) : (f32) -> ()
  }, {
  ^bb0(%t: index, %i: index, %s: f32):
    %v = arith.mulf %s, %half : f32
    "te.yield"(%v) : (f32) -> ()
  }) {label = "h", states = 1} : () -> tensor<11x3xf32>
  return %h : tensor<11x3xf32>
}

// What is marked is added to what arrays hold: the first result. A scatter is not cleared before.
// CHECK-LABEL: func.func @gradients
// CHECK-SAME: %[[X:.*]]: !field.array<f32, [4]>{{.*}}, %[[A:.*]]: !field.array<f32, [4]> {{{.*}}}, %[[B:.*]]: !field.array<f32, [4]> {{{.*}}}, %[[Y:.*]]: !field.array<f32, [4]>
// CHECK: scf.parallel (%[[I:.*]]) =
// CHECK: field.atomic add %{{.*}}, %[[A]][%[[I]]]
// CHECK-NOT: field.store %{{.*}}, %[[B]]
// CHECK: field.atomic add %{{.*}}, %[[B]][%{{.*}}]
// CHECK: field.store %{{.*}}, %[[Y]]
func.func @gradients(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    attributes {te.added = [0, 1]} {
  %c4 = arith.constant 4 : index
  %c2 = arith.constant 2 : index
  %a = "te.compute"() ({
  ^bb0(%i: index):
    %v = "te.read"(%x, %i) : (tensor<4xf32>, index) -> f32
    "te.yield"(%v) : (f32) -> ()
  }) {label = "a"} : () -> tensor<4xf32>
  %s = "te.scatter"(%c4) ({
  ^bb0(%i: index):
    %v = "te.read"(%x, %i) : (tensor<4xf32>, index) -> f32
    %j = arith.divui %i, %c2 : index
    %inside = arith.cmpi ult, %j, %c4 : index
    "te.put"(%inside, %v, %j) : (i1, f32, index) -> ()
  }) {label = "s"} : (index) -> tensor<4xf32>
  %y = "te.compute"() ({
  ^bb0(%i: index):
    %v = "te.read"(%x, %i) : (tensor<4xf32>, index) -> f32
    "te.yield"(%v) : (f32) -> ()
  }) {label = "y"} : () -> tensor<4xf32>
  return %a, %s, %y : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @no_tensors
func.func @no_tensors() {
  return
}

// An axis of one value is no loop.
// CHECK-LABEL: func.func @one_value
// CHECK: scf.parallel (%[[I:.*]]) =
// CHECK: scf.for %[[K:.*]] = %c0{{.*}} to %c10
// CHECK-NOT: scf.for
// CHECK: field.load %{{.*}}[%[[I]], %[[K]]]
func.func @one_value(%x: tensor<4x10xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %zero = arith.constant 0.0 : f32
  %y = "te.compute"() ({
  ^bb0(%i: index):
    %next = arith.addi %i, %c1 : index
    %s = "te.reduce"(%i, %next, %c0, %c10, %zero) ({
    ^bb0(%q: index, %k: index):
      %v = "te.read"(%x, %q, %k) : (tensor<4x10xf32>, index, index) -> f32
      "te.yield"(%v) : (f32) -> ()
    }, {
    ^bb0(%a: f32, %b: f32):
      %t = arith.addf %a, %b : f32
      "te.yield"(%t) : (f32) -> ()
    }) {kind = "sum", operandSegmentSizes = array<i32: 4, 1>} : (index, index, index, index, f32) -> f32
    "te.yield"(%s) : (f32) -> ()
  }) {label = "y"} : () -> tensor<4xf32>
  return %y : tensor<4xf32>
}
