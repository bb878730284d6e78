// RUN: mlirad-opt %s --differentiate-forward --canonicalize --cse | filecheck %s
// RUN: mlirad-opt %s --differentiate-forward=constant=true --canonicalize --cse | filecheck %s --check-prefix=CONSTANT

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], duals = [@x.dual]} : () -> ()
    "snode.place"() {sym_name = "y", element = f32, component_shape = [], duals = [@y.dual]} : () -> ()
    "snode.place"() {sym_name = "x.dual", element = f32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "y.dual", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [8]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// CHECK-LABEL: func.func @square(
// CHECK-DAG: [[Y:%.*]] = field.get @y :
// CHECK-DAG: [[YD:%.*]] = field.get @y.dual :
// CHECK-DAG: [[X:%.*]] = field.get @x :
// CHECK-DAG: [[XD:%.*]] = field.get @x.dual :
// CHECK: [[V:%.*]] = field.load [[X]][
// CHECK: [[T:%.*]] = field.load [[XD]][
// CHECK: [[R:%.*]] = arith.mulf [[V]], [[V]]
// CHECK: [[A:%.*]] = arith.mulf [[T]], [[V]]
// CHECK: [[S:%.*]] = arith.addf [[A]], [[A]]
// CHECK: field.store [[R]], [[Y]][
// CHECK: field.store [[S]], [[YD]][
// CONSTANT-LABEL: func.func @square(
// CONSTANT-DAG: [[ZERO:%.*]] = arith.constant 0.000000e+00
// CONSTANT-DAG: [[YD:%.*]] = field.get @y.dual :
// CONSTANT-NOT: @x.dual
// CONSTANT: field.store [[ZERO]], [[YD]][
func.func @square(%i: index) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [8]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [8]>
  %0 = "field.load"(%x, %i) : (!field.array<f32, [8]>, index) -> f32
  %1 = arith.mulf %0, %0 : f32
  "field.store"(%1, %y, %i) : (f32, !field.array<f32, [8]>, index) -> ()
  return
}

// The larger of two takes its tangent along; the tangent of a sum is the sum of tangents.
// CHECK-LABEL: func.func @updates(
// CHECK: [[K:%.*]] = arith.cmpf ogt
// CHECK: arith.select [[K]]
// CHECK: arith.select [[K]]
// CHECK-COUNT-2: field.atomic add
func.func @updates(%i: index) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [8]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [8]>
  %0 = "field.load"(%x, %i) : (!field.array<f32, [8]>, index) -> f32
  %1 = "field.atomic"(%0, %y, %i) {kind = "max"} : (f32, !field.array<f32, [8]>, index) -> f32
  %2 = "field.atomic"(%0, %y, %i) {kind = "add"} : (f32, !field.array<f32, [8]>, index) -> f32
  return
}
