// RUN: mlirad-opt %s --lower-grad-logs | filecheck %s
// RUN: mlirad-opt %s --lower-grad-logs --lower-grad-logs | filecheck %s

// CHECK-DAG: llvm.func @realloc
// CHECK-DAG: llvm.func @free

// CHECK-LABEL: func.func @recorded
// CHECK: %[[HEADER:.*]] = memref.alloca() : memref<3xi64>
// CHECK: %[[FULL:.*]] = arith.cmpi eq
// CHECK-NEXT: scf.if %[[FULL]]
// CHECK: llvm.call @realloc
// CHECK: %[[WORD:.*]] = arith.index_cast %arg1
// CHECK-NEXT: llvm.store %[[WORD]],
// CHECK-NEXT: llvm.store %arg0,
// CHECK: llvm.call @free
func.func @recorded(%v: f32, %i: index) {
  %l = "grad.open"() : () -> !grad.log<f32, 1>
  "grad.record"(%v, %l, %i) : (f32, !grad.log<f32, 1>, index) -> ()
  "grad.close"(%l) : (!grad.log<f32, 1>) -> ()
  return
}

// CHECK-LABEL: func.func @given_back_since_a_mark
// CHECK: %[[HEADER:.*]] = memref.alloca() : memref<3xi64>
// CHECK: scf.while
// CHECK: %[[MORE:.*]] = arith.cmpi sgt
// CHECK-NEXT: scf.condition(%[[MORE]])
// CHECK: %[[I:.*]] = arith.index_cast
// CHECK: %[[V:.*]] = llvm.load {{.*}} -> f32
// CHECK-NEXT: field.store %[[V]], %arg0[%[[I]]]
func.func @given_back_since_a_mark(%x: !field.array<f32, [16]>) {
  %l = "grad.open"() : () -> !grad.log<f32, 1>
  %m = "grad.mark"(%l) : (!grad.log<f32, 1>) -> index
  "grad.undo"(%l, %m, %x) : (!grad.log<f32, 1>, index, !field.array<f32, [16]>) -> ()
  "grad.close"(%l) : (!grad.log<f32, 1>) -> ()
  return
}
