// RUN: mlirad-opt %s --lower-field-print=gpu=true | filecheck %s
// RUN: mlirad-opt %s --lower-field-print=gpu=true --lower-field-print=gpu=true | filecheck %s

// CHECK-LABEL: func.func @f
// CHECK: %[[I:.*]] = arith.extsi
// CHECK-NEXT: gpu.printf "%lld\0A", %[[I]] : i64
// CHECK: %[[X:.*]] = arith.extf
// CHECK-NEXT: gpu.printf "x = %f\0A", %[[X]] : f64
func.func @f(%i: i32, %x: f32) {
  "field.print"(%i) {format = "{}\0A"} : (i32) -> ()
  "field.print"(%x) {format = "x = {}\0A"} : (f32) -> ()
  return
}
