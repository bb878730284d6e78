// RUN: mlirad-opt %s --insert-fast-math="flags=reassoc+contract long=4" | filecheck %s
// RUN: mlirad-opt %s --insert-fast-math="flags=reassoc+contract long=4" --insert-fast-math="flags=reassoc+contract long=4" | filecheck %s

// Five operations: products of derivatives stay as they are, a program's own as marked.
// CHECK-LABEL: func.func @long
// CHECK: arith.mulf {{.*}} fastmath<contract>
// CHECK: arith.mulf {{.*}} fastmath<reassoc,contract> {field.loose}
// CHECK: arith.addf {{.*}} fastmath<reassoc,contract>
func.func @long(%a: f32, %b: f32) -> f32 {
  %0 = arith.mulf %a, %b : f32
  %1 = arith.mulf %0, %b {field.loose} : f32
  %2 = arith.addf %1, %b : f32
  return %2 : f32
}
