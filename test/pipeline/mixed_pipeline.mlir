// RUN: mlirad-opt %s -p "builtin.module( func.func(canonicalize, hoist-loads), insert-fast-math{flags=nsz}, cse )" | filecheck %s

// CHECK-LABEL: func.func @nested_and_not
// CHECK-COUNT-1: arith.constant 16 : index
// CHECK: field.load
// CHECK-NEXT: scf.for
// CHECK: arith.mulf %{{.*}} fastmath<nsz>
// CHECK-NOT: arith.addf
func.func @nested_and_not(%x: !field.array<f32, [16]>, %i: index, %start: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %n = arith.constant 16 : index
  %dead = arith.addf %start, %start {field.derivative} : f32
  %result = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %start) -> f32 {
    %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
    %w = arith.mulf %v, %sum {field.derivative} : f32
    scf.yield %w : f32
  }
  return %result : f32
}

// CHECK-LABEL: func.func @functions_of_inner_modules
// CHECK: scf.for
// CHECK-NEXT: field.load
module {
  func.func @functions_of_inner_modules(%x: !field.array<f32, [16]>, %i: index) -> f32 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %zero = arith.constant 0.0 : f32
    %result = scf.for %k = %c0 to %c16 step %c1 iter_args(%sum = %zero) -> f32 {
      %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
      %w = arith.addf %v, %sum {field.derivative} : f32
      scf.yield %w : f32
    }
    return %result : f32
  }
}
