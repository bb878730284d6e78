// RUN: mlirad-opt %s --insert-access-checks | filecheck %s
// RUN: mlirad-opt %s --insert-access-checks --mlir-print-op-generic | mlirad-opt - | filecheck %s

// CHECK: snode.place @"$check.x"
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "y", element = f32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// CHECK-LABEL: func.func @read_then_write(
// CHECK: %[[ONE:.*]] = arith.constant 1 : i8
// CHECK-NEXT: field.store %[[ONE]], %{{.*}}[%[[I:.*]]]
// CHECK: field.load %{{.*}}[%[[I]]] : f32
// CHECK: %[[BIT:.*]] = field.load %{{.*}}[%[[I]]] : i8
// CHECK: %[[UNREAD:.*]] = arith.cmpi eq, %[[BIT]]
// CHECK-NEXT: field.assert %[[UNREAD]], "(kernel=read_then_write) Breaks the global data access rule. Snode x is overwritten unexpectedly."
// CHECK-NEXT: field.store %{{.*}}, %{{.*}}[%[[I]]]
func.func @read_then_write(%i: index) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
  "field.store"(%v, %x, %i) : (f32, !field.array<f32, [16]>, index) -> ()
  return
}

// CHECK-LABEL: func.func @no_gradient(
// CHECK-NOT: i8
func.func @no_gradient(%i: index) {
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [16]>
  %v = "field.load"(%y, %i) : (!field.array<f32, [16]>, index) -> f32
  "field.store"(%v, %y, %i) : (f32, !field.array<f32, [16]>, index) -> ()
  return
}
