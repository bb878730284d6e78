// RUN: mlirad-opt %s --keep-launch=number=1 --split-input-file --verify-diagnostics | filecheck %s
// RUN: mlirad-opt %s --keep-launch=number=1 --split-input-file --verify-diagnostics --mlir-print-op-generic | mlirad-opt - --split-input-file | filecheck %s

// CHECK-LABEL: func.func @second_of_two_loops
// CHECK-COUNT-1: scf.parallel
// CHECK: field.load
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
// CHECK-COUNT-2: field.store
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

// A value of the first part, which it stores: the second one loads it.
// CHECK-LABEL: func.func @local_between_loops
// CHECK-SAME: %[[SHARED:[a-z0-9]+]]: !field.array<f32, []> {field.argument = 2 : i64, field.needs_grad, field.shared}
// CHECK-NOT: field.atomic
// CHECK: %[[OLD:.*]] = field.load %[[SHARED]][]
// CHECK: scf.parallel
// CHECK: field.store %[[OLD]], %arg0[]
func.func @local_between_loops(%x: !field.array<f32, []>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %old = "field.atomic"(%v, %x) {kind = "add"} : (f32, !field.array<f32, []>) -> f32
  scf.parallel (%i) = (%c0) to (%c1) step (%c1) {
    "field.store"(%old, %x) : (f32, !field.array<f32, []>) -> ()
  }
  return
}

// So is what a clock says, which is read once.
// CHECK-LABEL: func.func @clock_between_loops
// CHECK-SAME: %[[SHARED:[a-z0-9]+]]: !field.array<i64, []> {field.argument = 1 : i64, field.shared}
// CHECK-NOT: field.clock
// CHECK: %[[TICKS:.*]] = field.load %[[SHARED]][]
// CHECK: scf.parallel
// CHECK: field.store %[[TICKS]], %arg0[]
func.func @clock_between_loops(%x: !field.array<i64, []>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ticks = "field.clock"() : () -> i64
  scf.parallel (%i) = (%c0) to (%c1) step (%c1) {
    "field.store"(%ticks, %x) : (i64, !field.array<i64, []>) -> ()
  }
  return
}

// What was read before a part overwrote it is such a value; the first part makes it.
// CHECK-LABEL: func.func @read_before
// CHECK-SAME: %[[SHARED:[a-z0-9]+]]: !field.array<i32, []> {field.argument = 2 : i64, field.shared}
// CHECK-NOT: field.load %arg0[]
// CHECK: %[[WORD:.*]] = field.load %[[SHARED]][]
// CHECK: %[[END:.*]] = arith.index_cast %[[WORD]] : i32 to index
// CHECK: scf.parallel ({{.*}}) = ({{.*}}) to (%[[END]])
// CHECK: return
func.func @read_before(%n: !field.array<i32, []>, %x: !field.array<f32, [16]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %count = "field.load"(%n) : (!field.array<i32, []>) -> i32
  %end = arith.index_cast %count : i32 to index
  "field.store"(%zero, %n) : (i32, !field.array<i32, []>) -> ()
  scf.parallel (%i) = (%c0) to (%end) step (%c1) {
    %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
    "field.store"(%v, %x, %i) : (f32, !field.array<f32, [16]>, index) -> ()
  }
  return
}

// A cell of several parts is an argument of all; the last part returns.
// CHECK-LABEL: func.func @cell
// CHECK-SAME: %[[SHARED:[a-z0-9]+]]: !field.array<f32, []> {{{.*}}field.shared}) {
// CHECK-NOT: field.alloca
// CHECK: scf.parallel
// CHECK: field.atomic add %{{.*}}, %[[SHARED]][]
// CHECK: return{{$}}
func.func @cell(%x: !field.array<f32, [16]>, %y: !field.array<f32, []>) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %one = arith.constant 1.0 : f32
  %s = "field.alloca"() : () -> !field.array<f32, []>
  "field.store"(%one, %s) : (f32, !field.array<f32, []>) -> ()
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
    %old = "field.atomic"(%v, %s) {kind = "add"} : (f32, !field.array<f32, []>) -> f32
  }
  %sum = "field.load"(%s) : (!field.array<f32, []>) -> f32
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    "field.store"(%sum, %x, %i) : (f32, !field.array<f32, [16]>, index) -> ()
  }
  return %sum : f32
}
