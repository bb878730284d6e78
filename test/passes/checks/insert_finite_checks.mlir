// RUN: mlirad-opt %s --insert-finite-checks | filecheck %s
// RUN: mlirad-opt %s --insert-finite-checks --mlir-print-op-generic | mlirad-opt - | filecheck %s

"snode.root"() ({
  "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
  "snode.place"() {sym_name = "n", element = i32, component_shape = []} : () -> ()
}) {sym_name = "S0"} : () -> ()

// CHECK-LABEL: func.func @store(
// CHECK: field.store
// CHECK: %[[BITS:.*]] = arith.bitcast %{{.*}} : f32 to i32
// CHECK: %[[EXPONENT:.*]] = arith.andi %[[BITS]], %[[MASK:.*]] : i32
// CHECK: %[[FINITE:.*]] = arith.cmpi ne, %[[EXPONENT]], %[[MASK]] : i32
// CHECK-NEXT: field.assert %[[FINITE]], "(kernel=store) field 'x' becomes {g}, which is not a finite number", %{{.*}}
func.func @store(%v: f32) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, []>
  "field.store"(%v, %x) : (f32, !field.array<f32, []>) -> ()
  return
}

// CHECK-LABEL: func.func @sum(
// CHECK: %[[OLD:.*]] = field.atomic add %[[V:.*]], %{{.*}}[]
// CHECK: %[[SUM:.*]] = arith.addf %[[OLD]], %[[V]] : f32
// CHECK: arith.bitcast %[[SUM]] : f32 to i32
func.func @sum(%v: f32) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, []>
  %old = "field.atomic"(%v, %x) {kind = "add"} : (f32, !field.array<f32, []>) -> f32
  return
}

// CHECK-LABEL: func.func @integers_and_locals(
// CHECK-NOT: field.assert
func.func @integers_and_locals(%v: f32, %k: i32) {
  %n = "field.get"() {field = @n} : () -> !field.array<i32, []>
  %a = "field.alloca"() : () -> !field.array<f32, []>
  "field.store"(%k, %n) : (i32, !field.array<i32, []>) -> ()
  "field.store"(%v, %a) : (f32, !field.array<f32, []>) -> ()
  return
}
