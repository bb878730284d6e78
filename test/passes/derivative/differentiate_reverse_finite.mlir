// RUN: mlirad-opt %s --differentiate-reverse --canonicalize --cse | filecheck %s
// RUN: mlirad-opt %s --differentiate-reverse --canonicalize --cse --mlir-print-op-generic | mlirad-opt - | filecheck %s

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "y", element = f32, component_shape = [], adjoint = @y.grad} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "y.grad", element = f32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "w", element = f32, component_shape = [], field.infinite} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// 1 / sqrt(x * x + 1e-8) is finite for every x, and so is its derivative: nothing is tested.
// CHECK-LABEL: func.func @softened
// CHECK-NOT: arith.cmpf
func.func @softened(%i: index) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [16]>
  %soft = arith.constant 1.0e-8 : f32
  %one = arith.constant 1.0 : f32
  %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
  %square = arith.mulf %v, %v : f32
  %sum = arith.addf %square, %soft : f32
  %root = math.sqrt %sum : f32
  %inverse = arith.divf %one, %root : f32
  "field.store"(%inverse, %y, %i) : (f32, !field.array<f32, [16]>, index) -> ()
  return
}

// sqrt(x * x) has no derivative at 0: an adjoint of 0 stays 0 there.
// CHECK-LABEL: func.func @sharp
// CHECK: arith.cmpf
func.func @sharp(%i: index) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [16]>
  %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
  %square = arith.mulf %v, %v : f32
  %root = math.sqrt %square : f32
  "field.store"(%root, %y, %i) : (f32, !field.array<f32, [16]>, index) -> ()
  return
}

// x * x + 1e-42 is not 0, but too small to divide by.
// CHECK-LABEL: func.func @too_small
// CHECK: arith.cmpf
func.func @too_small(%i: index) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [16]>
  %soft = arith.constant 1.0e-42 : f32
  %one = arith.constant 1.0 : f32
  %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
  %square = arith.mulf %v, %v : f32
  %sum = arith.addf %square, %soft : f32
  %inverse = arith.divf %one, %sum : f32
  "field.store"(%inverse, %y, %i) : (f32, !field.array<f32, [16]>, index) -> ()
  return
}

// Numbers in memory are finite, and a product with one is not tested, but for those of an array that may hold infinities.
// CHECK-LABEL: func.func @finite_factor
// CHECK-NOT: arith.cmpf
func.func @finite_factor(%i: index) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [16]>
  %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
  %product = arith.mulf %v, %v : f32
  "field.store"(%product, %y, %i) : (f32, !field.array<f32, [16]>, index) -> ()
  return
}

// CHECK-LABEL: func.func @factor_that_may_be_infinite
// CHECK: arith.cmpf oeq
// CHECK: arith.select
func.func @factor_that_may_be_infinite(%i: index) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [16]>
  %w = "field.get"() {field = @w} : () -> !field.array<f32, [16]>
  %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
  %factor = "field.load"(%w, %i) : (!field.array<f32, [16]>, index) -> f32
  %product = arith.mulf %v, %factor : f32
  "field.store"(%product, %y, %i) : (f32, !field.array<f32, [16]>, index) -> ()
  return
}

// A vector's elements decide what its quotients may be; it is no array, and nothing is differentiated.
// CHECK-LABEL: func.func @vectors
// CHECK-NOT: arith.divf
func.func @vectors(%x: vector<4xf32>, %y: vector<4xf32>) {
  %0 = arith.divf %x, %y : vector<4xf32>
  vector.print %0 : vector<4xf32>
  return
}
