// RUN: mlirad-opt %s --lower-field-assert | filecheck %s
// RUN: mlirad-opt %s --lower-field-assert --lower-field-assert | filecheck %s

// CHECK: field.messages = [{place = {column = 3 : i64, file = "{{.*}}lower_field_assert.mlir", line = 21 : i64}, text = "index {} is negative"}]
// CHECK: snode.place @"$errors" {{.*}}{field.errors} : i64

// CHECK-LABEL: func.func @first_failure_is_recorded
// CHECK: %[[FAILED:.*]] = arith.xori %arg0,
// CHECK: %[[RECORD:.*]] = field.get @"$errors" :
// CHECK: scf.if %[[FAILED]]
// CHECK: %[[EARLIER:.*]] = field.atomic add %{{.*}}, %[[RECORD]][%{{.*}}]
// CHECK: %[[NONE:.*]] = arith.cmpi eq, %[[EARLIER]],
// CHECK-NEXT: scf.if %[[NONE]]
// CHECK: %[[WORD:.*]] = arith.index_cast %arg1
// CHECK: field.store %[[WORD]], %[[RECORD]][%[[SECOND:.*]]]
// CHECK: %[[NUMBER:.*]] = arith.constant 1 : i64
// CHECK-NEXT: field.store %[[NUMBER]], %[[RECORD]][
// CHECK-NOT: field.assert
// CHECK: return
func.func @first_failure_is_recorded(%c: i1, %i: index) {
  "field.assert"(%c, %i) {message = "index {} is negative"} : (i1, index) -> ()
  return
}
