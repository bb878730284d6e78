// RUN: mlirad-opt %s --insert-fast-math="flags=reassoc+contract long=4" | filecheck %s
// RUN: mlirad-opt %s --insert-fast-math="flags=reassoc+contract long=4" --insert-fast-math="flags=reassoc+contract long=4" | filecheck %s

// More than four operations: products of derivatives stay as they are, a program's own as marked;
// sums do, but for those that a loop goes on with.
// CHECK-LABEL: func.func @long
// CHECK: arith.mulf {{.*}} fastmath<contract> {field.derivative} : f32
// CHECK: arith.mulf {{.*}} fastmath<reassoc,contract> {field.loose}
// CHECK: arith.addf {{.*}} fastmath<contract> {field.derivative} : f32
// CHECK: scf.for
// CHECK: arith.subf {{.*}} fastmath<contract> {field.derivative} : f32
// CHECK: arith.addf {{.*}} fastmath<reassoc,contract> {field.derivative} : f32
// CHECK: scf.yield
func.func @long(%a: f32, %b: f32, %zero: index, %n: index, %one: index) -> f32 {
  %0 = arith.mulf %a, %b {field.derivative} : f32
  %1 = arith.mulf %0, %b {field.loose} : f32
  %2 = arith.addf %1, %b {field.derivative} : f32
  %3 = scf.for %i = %zero to %n step %one iter_args(%sum = %2) -> (f32) {
    %4 = arith.subf %2, %a {field.derivative} : f32
    %5 = arith.addf %sum, %4 {field.derivative} : f32
    scf.yield %5 : f32
  }
  return %3 : f32
}
