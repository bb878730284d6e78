// RUN: mlirad-opt %s --lower-te-to-field | filecheck %s

// What is said of axes goes to the loops; axes that threads do not share are loops of their own, and some are written out.
// CHECK-LABEL: func.func @product
// CHECK: scf.parallel (%[[I:.*]]) = (%{{.*}}) to (%{{.*}}) step
// CHECK: scf.for %[[J:.*]] = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK-NOT: scf.for
// CHECK: field.load %{{.*}}[%[[I]], %{{.*}}]
// CHECK: field.load %{{.*}}[%[[I]], %{{.*}}]
// CHECK: field.store %{{.*}}, %{{.*}}[%[[I]], %[[J]]]
// CHECK: {field.any_order, field.axis_choice = {in_lanes, is_serial, name = "j", tile = 16 : i64}}
// CHECK: {field.axes = [{name = "i", tile = 4 : i64}]}
func.func @product(%x: tensor<4x2xf32>, %w: tensor<2x32xf32>) -> tensor<4x32xf32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %y = "te.compute"() ({
  ^bb0(%i: index, %j: index):
    %s = "te.reduce"(%c0, %c2, %zero) ({
    ^bb0(%k: index):
      %a = "te.read"(%x, %i, %k) : (tensor<4x2xf32>, index, index) -> f32
      %b = "te.read"(%w, %k, %j) : (tensor<2x32xf32>, index, index) -> f32
      %p = arith.mulf %a, %b : f32
      "te.yield"(%p) : (f32) -> ()
    }, {
    ^bb0(%a: f32, %b: f32):
      %t = arith.addf %a, %b : f32
      "te.yield"(%t) : (f32) -> ()
    }) {kind = "sum", operandSegmentSizes = array<i32: 2, 1>, field.axes = [{name = "k", is_written_out}]} : (index, index, f32) -> f32
    "te.yield"(%s) : (f32) -> ()
  }) {label = "y", field.axes = [{name = "i", tile = 4 : i64}, {name = "j", tile = 16 : i64, in_lanes, is_serial}]} : () -> tensor<4x32xf32>
  return %y : tensor<4x32xf32>
}
