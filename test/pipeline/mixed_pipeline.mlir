// RUN: mlirad-opt %s -p "builtin.module( func.func(canonicalize, insert-bounds-checks), insert-fast-math{flags=nsz}, cse )" | filecheck %s

// CHECK-LABEL: func.func @nested_and_not
// CHECK-COUNT-1: arith.constant 16 : index
// CHECK: "field.assert"
// CHECK: arith.mulf %{{.*}} fastmath<nsz>
// CHECK-NOT: arith.addf
func.func @nested_and_not(%x: !field.array<f32, [16]>, %i: index) -> f32 {
  %c16 = arith.constant 16 : index
  %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
  %dead = arith.addf %v, %v : f32
  %w = arith.mulf %v, %v : f32
  return %w : f32
}

// CHECK-LABEL: func.func @functions_of_inner_modules
// CHECK-NOT: "field.assert"
// CHECK: return
module {
  func.func @functions_of_inner_modules(%x: !field.array<f32, [16]>, %i: index) -> f32 {
    %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
    return %v : f32
  }
}
