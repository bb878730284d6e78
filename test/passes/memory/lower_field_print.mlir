// RUN: mlirad-opt %s --lower-field-print | filecheck %s
// RUN: mlirad-opt %s --lower-field-print --lower-field-print | filecheck %s

// CHECK-LABEL: func.func @float_as_double
// CHECK: %[[V:.*]] = arith.extf %arg0 : f32 to f64
// CHECK-NEXT: %[[TEXT:.*]] = llvm.mlir.addressof @print.0
// CHECK-NEXT: llvm.call @printf(%[[TEXT]], %[[V]])
func.func @float_as_double(%v: f32) {
  "field.print"(%v) {format = "100% {:.3f}\0A"} : (f32) -> ()
  return
}

// CHECK-LABEL: func.func @unsigned_in_64_bits
// CHECK: %[[V:.*]] = arith.extui %arg0 : i32 to i64
// CHECK: llvm.call @printf(%{{.*}}, %[[V]])
func.func @unsigned_in_64_bits(%v: i32) {
  "field.print"(%v) {format = "{u}"} : (i32) -> ()
  return
}

// CHECK: llvm.mlir.global private constant @print.0("100%% %.3f\0A\00")
// CHECK: llvm.func @printf(!llvm.ptr, ...) -> i32
// CHECK: llvm.mlir.global private constant @print.1("%llu\00")
