// RUN: not mlirad-opt %s --split-input-file 2>&1 | filecheck %s

// CHECK: {{.*}}malformed_text.mlir:14:8: error: 'grad.dual' is written in quotes, in generic form
// CHECK-NEXT: %0 = grad.dual %x, %i : f32
// CHECK: {{.*}}malformed_text.mlir:21:{{[0-9]+}}: error: position 4294967296 is larger than 2147483647
// CHECK: {{.*}}malformed_text.mlir:28:{{[0-9]+}}: error: position 4294967296 is larger than 2147483647
// CHECK: {{.*}}malformed_text.mlir:35:3: error: a string whose bytes are not UTF-8
// CHECK-NOT: error
// CHECK: func.func @right

func.func @f(%x: !field.array<f32, [4]>, %i: index) -> f32 {
  // "%0 = field.store"
  %s = arith.constant 1 : i32
  %0 = grad.dual %x, %i : f32
  return %0 : f32
}

// -----

func.func @insert(%v: f32, %s: !llvm.struct<(f32)>) {
  %0 = llvm.insertvalue %v, %s[4294967296] : !llvm.struct<(f32)>
  return
}

// -----

func.func @generic(%v: f32, %s: !llvm.struct<(f32)>) {
  %0 = "llvm.insertvalue"(%s, %v) {position = array<i64: 4294967296>} : (!llvm.struct<(f32)>, f32) -> !llvm.struct<(f32)>
  return
}

// -----

func.func @name() {
  "te\FFst.op"() : () -> ()
  return
}

// -----

func.func @right(%x: i64 {field.note = "a\\ff \C3\BC"}) {
  return
}
