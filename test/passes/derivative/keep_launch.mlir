// RUN: mlirad-opt %s --keep-launch=number=1 --split-input-file --verify-diagnostics | filecheck %s
// RUN: mlirad-opt %s --keep-launch=number=1 --split-input-file --verify-diagnostics --mlir-print-op-generic | mlirad-opt - --split-input-file | filecheck %s

// CHECK-LABEL: func.func @second_of_two_loops
// CHECK-COUNT-1: scf.parallel
// CHECK: "field.load"
// CHECK: return
func.func @second_of_two_loops(%x: !field.array<f32, [16]>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    "field.store"(%v, %x, %i) : (f32, !field.array<f32, [16]>, index) -> ()
  }
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    %w = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
    %s = math.sin %w : f32
    "field.store"(%s, %x, %i) : (f32, !field.array<f32, [16]>, index) -> ()
  }
  return
}

// CHECK-LABEL: func.func @serial_statements_are_one_launch
// CHECK-NOT: scf.parallel
// CHECK-COUNT-2: "field.store"
// CHECK: return
func.func @serial_statements_are_one_launch(%x: !field.array<f32, []>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%c1) step (%c1) {
    "field.store"(%v, %x) : (f32, !field.array<f32, []>) -> ()
  }
  "field.store"(%v, %x) : (f32, !field.array<f32, []>) -> ()
  "field.store"(%v, %x) : (f32, !field.array<f32, []>) -> ()
  return
}

// -----

func.func @local_between_loops(%x: !field.array<f32, []>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @+1 {{a later loop of it uses a local computed here}}
  %old = "field.atomic"(%v, %x) {kind = "add"} : (f32, !field.array<f32, []>) -> f32
  scf.parallel (%i) = (%c0) to (%c1) step (%c1) {
    "field.store"(%old, %x) : (f32, !field.array<f32, []>) -> ()
  }
  return
}

// -----

func.func @local_that_is_returned(%x: !field.array<f32, []>, %v: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @+1 {{put the loops into kernels of their own}}
  %old = "field.atomic"(%v, %x) {kind = "add"} : (f32, !field.array<f32, []>) -> f32
  scf.parallel (%i) = (%c0) to (%c1) step (%c1) {
    "field.store"(%v, %x) : (f32, !field.array<f32, []>) -> ()
  }
  return %old : f32
}
