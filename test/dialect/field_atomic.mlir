// RUN: mlirad-opt %s --split-input-file --verify-diagnostics | filecheck %s
// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --mlir-print-op-generic | mlirad-opt - --split-input-file | filecheck %s

// CHECK-LABEL: func.func @f
// CHECK: field.atomic xor {{.*}}
// CHECK-NEXT: field.atomic exchange {{.*}}
func.func @f(%x: !field.array<f32, []>, %v: f32, %n: !field.array<i32, []>, %w: i32) {
  %0 = "field.atomic"(%w, %n) {kind = "xor"} : (i32, !field.array<i32, []>) -> i32
  %1 = "field.atomic"(%v, %x) {kind = "exchange"} : (f32, !field.array<f32, []>) -> f32
  return
}

// -----

func.func @f(%x: !field.array<f32, []>, %v: f32, %n: !field.array<i32, []>, %w: i32) {
  // expected-error @+1 {{unknown atomic kind 'sub', expected one of}}
  %0 = "field.atomic"(%v, %x) {kind = "sub"} : (f32, !field.array<f32, []>) -> f32
  return
}

// -----

func.func @f(%x: !field.array<f32, []>, %v: f32, %n: !field.array<i32, []>, %w: i32) {
  // expected-error @+1 {{atomic kind 'xor' on f32, expected an integer}}
  %0 = "field.atomic"(%v, %x) {kind = "xor"} : (f32, !field.array<f32, []>) -> f32
  return
}

// -----

func.func @f(%x: !field.array<f32, []>, %v: f32, %n: !field.array<i32, []>, %w: i32) {
  // expected-error @+1 {{value of type i32 for elements of type f32}}
  %0 = "field.atomic"(%w, %x) {kind = "add"} : (i32, !field.array<f32, []>) -> i32
  return
}

// -----

func.func @f(%x: !field.array<f32, []>, %v: f32, %n: !field.array<i32, []>, %w: i32) {
  // expected-error @+1 {{an atomic on f32 gives f64}}
  %0 = "field.atomic"(%v, %x) {kind = "add"} : (f32, !field.array<f32, []>) -> f64
  return
}

// -----

func.func @f(%x: !field.array<f32, []>, %v: f32, %n: !field.array<i32, []>, %w: i32) {
  // expected-error @+1 {{attribute "kind" is expected but not provided}}
  %0 = "field.atomic"(%v, %x) : (f32, !field.array<f32, []>) -> f32
  return
}
