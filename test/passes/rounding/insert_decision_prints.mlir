// RUN: mlirad-opt %s --insert-decision-prints | filecheck %s
// RUN: mlirad-opt %s --insert-decision-prints --mlir-print-op-generic | mlirad-opt - | filecheck %s

// CHECK-LABEL: func.func @of_marked_ops
// CHECK: %[[X:.*]] = arith.bitcast %arg0 : f32 to i32
// CHECK: %[[Y:.*]] = arith.bitcast %arg1 : f32 to i32
// CHECK-NEXT: field.print "decision arith.cmpf 7:3 {u} {u}\0A", %[[X]], %[[Y]] : i32, i32
// CHECK-NEXT: arith.cmpf
// CHECK: %[[Z:.*]] = arith.bitcast %arg2 : f64 to i64
// CHECK-NEXT: field.print "decision arith.fptosi 8:3 {u}\0A", %[[Z]] : i64
// CHECK-NEXT: arith.fptosi
// CHECK-NOT: field.print
// CHECK: return
func.func @of_marked_ops(%x: f32, %y: f32, %z: f64) -> (i1, i32, f32, i1) {
  %c = arith.cmpf olt, %x, %y {field.decision} : f32 loc("a.py":7:3)
  %n = arith.fptosi %z {field.decision} : f64 to i32 loc("a.py":8:3)
  %s = arith.addf %x, %y {field.exact} : f32
  %d = arith.cmpf ogt, %x, %y : f32
  return %c, %n, %s, %d : i1, i32, f32, i1
}
