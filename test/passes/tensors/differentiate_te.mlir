// RUN: mlirad-opt %s --differentiate-te --canonicalize --cse | filecheck %s

// d/dx of sin(x)·w: the head times cos(x)·w.
// CHECK-LABEL: func.func @elementwise
// CHECK-SAME: %[[X:.*]]: tensor<5xf32>, %[[W:.*]]: tensor<5xf32>, %[[HEAD:.*]]: tensor<5xf32>) -> tensor<5xf32>
// CHECK: te.compute
// CHECK-NEXT: ^bb0(%[[I:.*]]: index):
// CHECK-DAG: %[[XI:.*]] = te.read %[[X]][%[[I]]]
// CHECK-DAG: %[[WI:.*]] = te.read %[[W]][%[[I]]]
// CHECK-DAG: %[[HI:.*]] = te.read %[[HEAD]][%[[I]]]
// CHECK-DAG: %[[COS:.*]] = math.cos %[[XI]]
// CHECK-DAG: %[[SLOPE:.*]] = arith.mulf %[[COS]], %[[WI]]
// CHECK: %[[D:.*]] = arith.mulf %[[HI]], %[[SLOPE]]
// CHECK: te.yield %[[D]] :
func.func @elementwise(%x: tensor<5xf32>, %w: tensor<5xf32>, %head: tensor<5xf32>) -> tensor<5xf32> attributes {te.adjoints = {inputs = [0], head = 2}} {
  %y = "te.compute"() ({
  ^bb0(%i: index):
    %v = "te.read"(%x, %i) : (tensor<5xf32>, index) -> f32
    %u = "te.read"(%w, %i) : (tensor<5xf32>, index) -> f32
    %s = math.sin %v : f32
    %p = arith.mulf %s, %u : f32
    "te.yield"(%p) : (f32) -> ()
  }) {label = "y"} : () -> tensor<5xf32>
  return %y : tensor<5xf32>
}

// dx = head · wᵀ, dw = xᵀ · head: sums over the index that is free, and no Jacobian.
// CHECK-LABEL: func.func @matmul
// CHECK-SAME: %[[X:.*]]: tensor<4x6xf32>, %[[W:.*]]: tensor<6x3xf32>, %[[HEAD:.*]]: tensor<4x3xf32>)
// CHECK-NOT: tensor<{{[0-9]+x[0-9]+x[0-9]+x}}f32>
// CHECK: %[[DX:.*]] = te.compute {{.*}} : tensor<4x6xf32> {
// CHECK-NEXT: ^bb0(%[[I:.*]]: index, %[[K:.*]]: index):
// CHECK: te.reduce sum [%c0{{.*}}, %c3
// CHECK-NEXT: ^bb0(%[[J:.*]]: index):
// CHECK-DAG: te.read %[[W]][%[[K]], %[[J]]]
// CHECK-DAG: te.read %[[HEAD]][%[[I]], %[[J]]]
// CHECK: %[[DW:.*]] = te.compute
// CHECK-NEXT: ^bb0(%[[K:.*]]: index, %[[J:.*]]: index):
// CHECK: te.reduce sum [%c0{{.*}}, %c4
// CHECK-NEXT: ^bb0(%[[I:.*]]: index):
// CHECK-DAG: te.read %[[X]][%[[I]], %[[K]]]
// CHECK-DAG: te.read %[[HEAD]][%[[I]], %[[J]]]
// CHECK: return %[[DX]], %[[DW]]
func.func @matmul(%x: tensor<4x6xf32>, %w: tensor<6x3xf32>, %head: tensor<4x3xf32>) -> tensor<4x3xf32> attributes {te.adjoints = {inputs = [0, 1], head = 2}} {
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

// y[i] = Σ x[3i + r]·w[r], r < 2: x[j] is read where 3 divides j - r; what is left is r itself.
// CHECK-LABEL: func.func @strided
// CHECK-SAME: %[[X:.*]]: tensor<11xf32>, %[[W:.*]]: tensor<2xf32>, %[[HEAD:.*]]: tensor<4xf32>)
// CHECK: te.compute {{.*}} : tensor<11xf32> {
// CHECK-NEXT: ^bb0(%[[J:.*]]: index):
// CHECK: te.reduce
// CHECK-NEXT: ^bb0(%[[I:.*]]: index):
// CHECK-NEXT: %[[BACK:.*]] = arith.muli %[[I]], %c-3
// CHECK-NEXT: %[[R:.*]] = arith.addi %[[J]], %[[BACK]]
// CHECK-NEXT: te.read %[[W]][%[[R]]]
// CHECK-NEXT: te.read %[[HEAD]][%[[I]]]
func.func @strided(%x: tensor<11xf32>, %w: tensor<2xf32>, %head: tensor<4xf32>) -> tensor<4xf32> attributes {te.adjoints = {inputs = [0], head = 2}} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  %y = "te.compute"() ({
  ^bb0(%i: index):
    %s = "te.reduce"(%c0, %c2, %zero) ({
    ^bb0(%r: index):
      %first = arith.muli %i, %c3 : index
      %at = arith.addi %first, %r : index
      %a = "te.read"(%x, %at) : (tensor<11xf32>, index) -> f32
      %b = "te.read"(%w, %r) : (tensor<2xf32>, index) -> f32
      %p = arith.mulf %a, %b : f32
      "te.yield"(%p) : (f32) -> ()
    }, {
    ^bb0(%a: f32, %b: f32):
      %t = arith.addf %a, %b : f32
      "te.yield"(%t) : (f32) -> ()
    }) {kind = "sum", operandSegmentSizes = array<i32: 2, 1>} : (index, index, f32) -> f32
    "te.yield"(%s) : (f32) -> ()
  }) {label = "y"} : () -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// y[i] = x[min(i, 2)]: elements up to 2 have their own head, that of 2 also those behind.
// CHECK-LABEL: func.func @clamped
// CHECK-COUNT-3: te.compute
// CHECK-NOT: te.scatter
// CHECK: return
func.func @clamped(%x: tensor<3xf32>, %head: tensor<5xf32>) -> tensor<5xf32> attributes {te.adjoints = {inputs = [0], head = 1}} {
  %c2 = arith.constant 2 : index
  %y = "te.compute"() ({
  ^bb0(%i: index):
    %at = arith.minsi %i, %c2 : index
    %v = "te.read"(%x, %at) : (tensor<3xf32>, index) -> f32
    "te.yield"(%v) : (f32) -> ()
  }) {label = "y"} : () -> tensor<5xf32>
  return %y : tensor<5xf32>
}

// Where a read depends on data, its adjoint is added there.
// CHECK-LABEL: func.func @gather
// CHECK-SAME: %[[TABLE:.*]]: tensor<50x8xf32>, %[[ROWS:.*]]: tensor<20xi32>, %[[HEAD:.*]]: tensor<20x8xf32>)
// CHECK: te.scatter {{.*}} : tensor<50x8xf32> {
// CHECK-NEXT: ^bb0(%[[I:.*]]: index, %[[J:.*]]: index):
// CHECK-DAG: %[[H:.*]] = te.read %[[HEAD]][%[[I]], %[[J]]]
// CHECK-DAG: %[[WORD:.*]] = te.read %[[ROWS]][%[[I]]]
// CHECK-DAG: %[[ROW:.*]] = arith.index_cast %[[WORD]]
// CHECK: te.put %[[H]] at [%[[ROW]], %[[J]]] if %true
func.func @gather(%table: tensor<50x8xf32>, %rows: tensor<20xi32>, %head: tensor<20x8xf32>) -> tensor<20x8xf32> attributes {te.adjoints = {inputs = [0], head = 2}} {
  %y = "te.compute"() ({
  ^bb0(%i: index, %j: index):
    %word = "te.read"(%rows, %i) : (tensor<20xi32>, index) -> i32
    %row = arith.index_cast %word : i32 to index
    %v = "te.read"(%table, %row, %j) : (tensor<50x8xf32>, index, index) -> f32
    "te.yield"(%v) : (f32) -> ()
  }) {label = "y"} : () -> tensor<20x8xf32>
  return %y : tensor<20x8xf32>
}

// A maximum: where it is first is a definition of its own, and that element has the head.
// CHECK-LABEL: func.func @maximum
// CHECK-SAME: %[[X:.*]]: tensor<4x6xf32>, %[[HEAD:.*]]: tensor<4xf32>)
// CHECK: %[[PLACES:.*]] = te.compute {{.*}} : tensor<4xi32> {
// CHECK: te.reduce argmax
// CHECK: te.compute {{.*}} : tensor<4x6xf32> {
// CHECK-NEXT: ^bb0(%[[I:.*]]: index, %[[K:.*]]: index):
// CHECK-DAG: %[[PLACE:.*]] = te.read %[[PLACES]][%[[I]]]
// CHECK-DAG: %[[HERE:.*]] = arith.index_cast %[[K]] : index to i32
// CHECK: arith.cmpi eq, %[[HERE]], %[[PLACE]]
func.func @maximum(%x: tensor<4x6xf32>, %head: tensor<4xf32>) -> tensor<4xf32> attributes {te.adjoints = {inputs = [0], head = 1}} {
  %c0 = arith.constant 0 : index
  %c6 = arith.constant 6 : index
  %low = arith.constant 0xFF800000 : f32
  %y = "te.compute"() ({
  ^bb0(%i: index):
    %s = "te.reduce"(%c0, %c6, %low) ({
    ^bb0(%k: index):
      %a = "te.read"(%x, %i, %k) : (tensor<4x6xf32>, index, index) -> f32
      "te.yield"(%a) : (f32) -> ()
    }, {
    ^bb0(%a: f32, %b: f32):
      %t = arith.maximumf %a, %b : f32
      "te.yield"(%t) : (f32) -> ()
    }) {kind = "max", operandSegmentSizes = array<i32: 2, 1>} : (index, index, f32) -> f32
    "te.yield"(%s) : (f32) -> ()
  }) {label = "y"} : () -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// h[t + 1] = 0.5·h[t] + x[t]: adjoints are a recurrence backwards, each half of the one behind.
// CHECK-LABEL: func.func @recurrence
// CHECK-SAME: %[[X:.*]]: tensor<10xf32>, %[[HEAD:.*]]: tensor<11xf32>)
// CHECK: %[[BACK:.*]] = te.scan {{.*}} : tensor<11xf32> {
// CHECK: te.read %[[HEAD]][%c10]
// CHECK: ^bb0(%[[T:.*]]: index, %[[A:.*]]: f32):
// CHECK: %[[H:.*]] = te.read %[[HEAD]]
// CHECK: %[[HALF:.*]] = arith.mulf %[[A]], %cst
// CHECK: arith.addf %[[H]], %[[HALF]]
// CHECK: te.compute {{.*}} : tensor<10xf32> {
// CHECK: te.read %[[BACK]]
func.func @recurrence(%x: tensor<10xf32>, %head: tensor<11xf32>) -> tensor<11xf32> attributes {te.adjoints = {inputs = [0], head = 1}} {
  %half = arith.constant 0.5 : f32
  %zero = arith.constant 0.0 : f32
  %h = "te.scan"() ({
    "te.yield"(%zero) : (f32) -> ()
  }, {
  ^bb0(%t: index, %s: f32):
    %v = "te.read"(%x, %t) : (tensor<10xf32>, index) -> f32
    %p = arith.mulf %s, %half : f32
    %n = arith.addf %p, %v : f32
    "te.yield"(%n) : (f32) -> ()
  }) {label = "h", states = 1} : () -> tensor<11xf32>
  return %h : tensor<11xf32>
}

// What an output does not depend on has adjoints 0, behind the axes in front of the head's own.
// CHECK-LABEL: func.func @not_reached
// CHECK: te.compute {{.*}} : tensor<2x7xf32> {
// CHECK: te.yield %cst
func.func @not_reached(%x: tensor<5xf32>, %w: tensor<7xf32>, %head: tensor<2x5xf32>) -> tensor<5xf32> attributes {te.adjoints = {inputs = [1], head = 2}} {
  %y = "te.compute"() ({
  ^bb0(%i: index):
    %v = "te.read"(%x, %i) : (tensor<5xf32>, index) -> f32
    "te.yield"(%v) : (f32) -> ()
  }) {label = "y"} : () -> tensor<5xf32>
  return %y : tensor<5xf32>
}
