// RUN: mlirad-opt %s --split-input-file --merge-equal-functions | filecheck %s
// RUN: mlirad-opt %s --split-input-file --merge-equal-functions --merge-equal-functions | filecheck %s

// Two steps that do the same, at the same line, are one function; that with another number is none
// of them.
// CHECK-LABEL: func.func @steps(
// CHECK: call @step0(%arg0, %arg1)
// CHECK: call @step0(%arg1, %arg0)
// CHECK: call @step2(%arg0, %arg1)
// CHECK: func.func private @step0(
// CHECK-NOT: @step1
// CHECK: func.func private @step2(
func.func @steps(%x: !field.array<f32, []>, %y: !field.array<f32, []>) {
  call @step0(%x, %y) : (!field.array<f32, []>, !field.array<f32, []>) -> ()
  call @step1(%y, %x) : (!field.array<f32, []>, !field.array<f32, []>) -> ()
  call @step2(%x, %y) : (!field.array<f32, []>, !field.array<f32, []>) -> ()
  return
}
func.func private @step0(%x: !field.array<f32, []> loc("here"), %y: !field.array<f32, []> loc("here")) {
  %one = arith.constant 1.0 : f32 loc("here")
  "field.store"(%one, %x) : (f32, !field.array<f32, []>) -> () loc("here")
  return loc("here")
} loc("here")
func.func private @step1(%x: !field.array<f32, []> loc("here"), %y: !field.array<f32, []> loc("here")) {
  %one = arith.constant 1.0 : f32 loc("here")
  "field.store"(%one, %x) : (f32, !field.array<f32, []>) -> () loc("here")
  return loc("here")
} loc("here")
func.func private @step2(%x: !field.array<f32, []> loc("here"), %y: !field.array<f32, []> loc("here")) {
  %one = arith.constant 2.0 : f32 loc("here")
  "field.store"(%one, %x) : (f32, !field.array<f32, []>) -> () loc("here")
  return loc("here")
} loc("here")

// -----

// Of different lines each stays, so that remarks name both.
// CHECK-LABEL: func.func @lines(
// CHECK: call @one(%arg0)
// CHECK: call @other(%arg0)
func.func @lines(%x: !field.array<f32, []>) {
  call @one(%x) : (!field.array<f32, []>) -> ()
  call @other(%x) : (!field.array<f32, []>) -> ()
  return
}
func.func private @one(%x: !field.array<f32, []> loc("one")) {
  return loc("one")
} loc("one")
func.func private @other(%x: !field.array<f32, []> loc("other")) {
  return loc("other")
} loc("other")
