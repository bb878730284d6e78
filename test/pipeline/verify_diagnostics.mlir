// RUN: not mlirad-opt %s --split-input-file --verify-diagnostics 2>/dev/null | filecheck %s --check-prefix=OUTPUT
// RUN: not mlirad-opt %s --split-input-file --verify-diagnostics 2>&1 >/dev/null | filecheck %s

// CHECK: {{.*}}verify_diagnostics.mlir:13:8: error: unexpected error: custom op 'arith.ad' is unknown
// CHECK: {{.*}}verify_diagnostics.mlir:21:4: error: expected error "never said" was not produced
// CHECK: {{.*}}verify_diagnostics.mlir:29:6: error: expected note "defined elsewhere" was not produced
// CHECK-NOT: error

// OUTPUT-NOT: @error_without_comment
// OUTPUT: func.func @nothing_reported

func.func @error_without_comment(%x: f32) {
  %0 = arith.ad %x, %x : f32
  return
}

// -----

func.func @nothing_reported() {
  return
// expected-error @above {{never said}}
}

// -----

func.func @wrong_note() {
  %0 = arith.constant 0 : i32
  // expected-error @+2 {{redefinition of SSA value}}
  // expected-note @-2 {{defined elsewhere}}
  %0 = arith.constant 1 : i32
  return
}

// -----

func.func @what_comments_expect() {
  // expected-note @below {{previously defined here}}
  %0 = arith.constant 0 : i32
  // expected-error @+1 {{redefinition of SSA value}}
  %0 = arith.constant 1 : i32
  return
}
