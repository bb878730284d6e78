// RUN: mlirad-opt %s --insert-private-copies=threads=2 | filecheck %s
// RUN: mlirad-opt %s --insert-private-copies=threads=2 --insert-private-copies=threads=2 | filecheck %s

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "n", element = i32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [4]} : () -> ()
}) {sym_name = "S0"} : () -> ()
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "large", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [131072]} : () -> ()
}) {sym_name = "S1"} : () -> ()

// CHECK-LABEL: func.func @many_updates_of_few_elements
// CHECK: %[[COPIES:.*]] = field.alloca : !field.array<f32, [2, 4]>
// CHECK-NEXT: scf.parallel
// CHECK: %[[CHUNK:.*]] = field.chunk
// CHECK-NEXT: field.atomic add %arg1, %[[COPIES]][%[[CHUNK]], %{{.*}}] {field.plain}
// CHECK: scf.parallel (%[[I:.*]]) =
// CHECK: %[[FIRST:.*]] = field.load %[[COPIES]][%{{.*}}, %[[I]]]
// CHECK: %[[SECOND:.*]] = field.load %[[COPIES]][%{{.*}}, %[[I]]]
// CHECK: %[[SUM:.*]] = arith.addf %[[FIRST]], %[[SECOND]]
// CHECK-NEXT: field.atomic add %[[SUM]], %{{.*}}[%[[I]]] {field.plain}
func.func @many_updates_of_few_elements(%of: !field.array<i32, [64]>, %v: f32) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [4]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.parallel (%i) = (%c0) to (%c64) step (%c1) {
    %k = "field.load"(%of, %i) : (!field.array<i32, [64]>, index) -> i32
    %j = arith.index_cast %k : i32 to index
    %o = "field.atomic"(%v, %x, %j) {kind = "add"} : (f32, !field.array<f32, [4]>, index) -> f32
  }
  return
}

// The copies stay for the next launch, which finds zeros.
// CHECK-LABEL: func.func @many_elements
// CHECK: %[[COPIES:.*]] = field.get @"$launch.0" : !field.array<f32, [2, 131072]>
// CHECK-NOT: field.alloca
// CHECK: field.atomic add %arg1, %[[COPIES]][%{{.*}}, %{{.*}}] {field.plain}
// CHECK: scf.parallel (%[[I:.*]]) =
// CHECK: %[[SUM:.*]] = arith.addf
// CHECK: field.store %[[ZERO:.*]], %[[COPIES]][%[[C0:.*]], %[[I]]]
// CHECK-NEXT: field.store %[[ZERO]], %[[COPIES]][%[[C1:.*]], %[[I]]]
// CHECK-NEXT: field.atomic add %[[SUM]], %{{.*}}[%[[I]]] {field.plain}
func.func @many_elements(%of: !field.array<i32, [262144]>, %v: f32) {
  %x = "field.get"() {field = @large} : () -> !field.array<f32, [131072]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c262144 = arith.constant 262144 : index
  scf.parallel (%i) = (%c0) to (%c262144) step (%c1) {
    %k = "field.load"(%of, %i) : (!field.array<i32, [262144]>, index) -> i32
    %j = arith.index_cast %k : i32 to index
    %o = "field.atomic"(%v, %x, %j) {kind = "add"} : (f32, !field.array<f32, [131072]>, index) -> f32
  }
  return
}

// CHECK-LABEL: func.func @few_updates
// CHECK-NOT: field.alloca
// CHECK: return
func.func @few_updates(%of: !field.array<i32, [64]>, %v: f32) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [4]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.parallel (%i) = (%c0) to (%c4) step (%c1) {
    %k = "field.load"(%of, %i) : (!field.array<i32, [64]>, index) -> i32
    %j = arith.index_cast %k : i32 to index
    %o = "field.atomic"(%v, %x, %j) {kind = "add"} : (f32, !field.array<f32, [4]>, index) -> f32
  }
  return
}

// CHECK-LABEL: func.func @read_in_the_loop
// CHECK-NOT: field.alloca
// CHECK: return
func.func @read_in_the_loop(%of: !field.array<i32, [64]>) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [4]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.parallel (%i) = (%c0) to (%c64) step (%c1) {
    %k = "field.load"(%of, %i) : (!field.array<i32, [64]>, index) -> i32
    %j = arith.index_cast %k : i32 to index
    %v = "field.load"(%x, %c0) : (!field.array<f32, [4]>, index) -> f32
    %o = "field.atomic"(%v, %x, %j) {kind = "add"} : (f32, !field.array<f32, [4]>, index) -> f32
  }
  return
}

// Elements that are an iteration's own stay out of the copies.
// CHECK-LABEL: func.func @beside_plain_updates
// CHECK: field.alloca : !field.array<f32, [2, 4]>
// CHECK: field.atomic add %arg1, %{{.*}}[%{{.*}}] {field.plain}
// CHECK: field.atomic add %arg1, %{{.*}}[%{{.*}}, %{{.*}}] {field.plain}
func.func @beside_plain_updates(%of: !field.array<i32, [64]>, %v: f32, %own: index) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [4]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.parallel (%i) = (%c0) to (%c64) step (%c1) {
    %k = "field.load"(%of, %i) : (!field.array<i32, [64]>, index) -> i32
    %j = arith.index_cast %k : i32 to index
    %o = "field.atomic"(%v, %x, %own) {field.plain, kind = "add"} : (f32, !field.array<f32, [4]>, index) -> f32
    %p = "field.atomic"(%v, %x, %j) {kind = "add"} : (f32, !field.array<f32, [4]>, index) -> f32
  }
  return
}
