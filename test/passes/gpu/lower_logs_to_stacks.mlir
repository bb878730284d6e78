// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --lower-logs-to-stacks | filecheck %s
// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --lower-logs-to-stacks --lower-logs-to-stacks | filecheck %s

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// A stack of elements, one of indices of 32 bits, and a length; entries go back last first.
// CHECK-LABEL: func.func @log(
// CHECK-SAME: %[[N:.*]]: index, %[[V:.*]]: f32)
// CHECK: %[[LENGTH:.*]] = memref.alloca() : memref<index>
// CHECK: %[[INDICES:.*]] = grad.alloc %[[N]] : !grad.stack<i32>
// CHECK: %[[ELEMENTS:.*]] = grad.alloc %[[N]] : !grad.stack<f32>
// CHECK: %[[MARK:.*]] = memref.load %[[LENGTH]]
// CHECK: %[[K:.*]] = memref.load %[[LENGTH]]
// CHECK: grad.push %[[V]], %[[ELEMENTS]][%[[K]]]
// CHECK: grad.push %{{.*}}, %[[INDICES]][%[[K]]]
// CHECK: memref.store %{{.*}}, %[[LENGTH]]
// CHECK: %[[END:.*]] = memref.load %[[LENGTH]]
// CHECK: scf.for %[[J:.*]] = %[[MARK]] to %[[END]]
// CHECK: %[[BACK:.*]] = arith.subi %{{.*}}, %[[J]]
// CHECK: %[[LAST:.*]] = arith.addi %[[MARK]], %[[BACK]]
// CHECK: grad.pop %[[INDICES]][%[[LAST]]]
// CHECK: grad.pop %[[ELEMENTS]][%[[LAST]]]
// CHECK-NEXT: field.store
// CHECK: memref.store %[[MARK]], %[[LENGTH]]
// CHECK: grad.free %[[ELEMENTS]]
// CHECK: grad.free %[[INDICES]]
func.func @log(%n: index, %v: f32) {
  %c3 = arith.constant 3 : index
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %log = "grad.open"(%n) : (index) -> !grad.log<f32, 1>
  %m = "grad.mark"(%log) : (!grad.log<f32, 1>) -> index
  "grad.record"(%v, %log, %c3) : (f32, !grad.log<f32, 1>, index) -> ()
  "grad.undo"(%log, %m, %x) : (!grad.log<f32, 1>, index, !field.array<f32, [16]>) -> ()
  "grad.close"(%log) : (!grad.log<f32, 1>) -> ()
  return
}

// -----

// Of an array of unknown extents: 64 bits.
// CHECK-LABEL: func.func @argument(
// CHECK: grad.alloc %{{.*}} : !grad.stack<i64>
func.func @argument(%n: index, %x: !field.array<f32, [-1]>) {
  %log = "grad.open"(%n) : (index) -> !grad.log<f32, 1>
  %m = "grad.mark"(%log) : (!grad.log<f32, 1>) -> index
  "grad.undo"(%log, %m, %x) : (!grad.log<f32, 1>, index, !field.array<f32, [-1]>) -> ()
  return
}

// -----

func.func @unsized() {
  // expected-error @+1 {{a log of unknown size: run insert-size-counts first}}
  %log = "grad.open"() : () -> !grad.log<f32, 1>
  return
}

// -----

func.func @lost(%log: !grad.log<f32, 1>) {
  // expected-error @+1 {{a log that no 'grad.open' before it makes}}
  %m = "grad.mark"(%log) : (!grad.log<f32, 1>) -> index
  return
}
