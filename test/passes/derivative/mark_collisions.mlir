// RUN: mlirad-opt %s --mark-collisions=report=true 2>&1 | filecheck %s

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "y", element = f32, component_shape = [], adjoint = @y.grad} : () -> ()
    "snode.place"() {sym_name = "k", element = i32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "y.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// CHECK: :28:5: remark: that no other iteration writes this element of 'y' at {{.*}}:28:5 is checked when a derivative is taken
// CHECK-NOT: remark:

// CHECK-LABEL: func.func @stores_through_memory(
// CHECK-SAME: grad.collisions
func.func @stores_through_memory(%n: index) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [16]>
  %k = "field.get"() {field = @k} : () -> !field.array<i32, [16]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
    %j = "field.load"(%k, %i) : (!field.array<i32, [16]>, index) -> i32
    %to = arith.index_cast %j : i32 to index
    "field.store"(%v, %y, %to) : (f32, !field.array<f32, [16]>, index) -> ()
    scf.reduce
  }
  return
}

// CHECK-LABEL: func.func @constants_sums_own_elements_and_serial_loops(
// CHECK-NOT: grad.collisions
func.func @constants_sums_own_elements_and_serial_loops(%n: index) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [16]>
  %k = "field.get"() {field = @k} : () -> !field.array<i32, [16]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
    %j = "field.load"(%k, %i) : (!field.array<i32, [16]>, index) -> i32
    %to = arith.index_cast %j : i32 to index
    %o = "field.atomic"(%v, %y, %to) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    "field.store"(%v, %x, %i) : (f32, !field.array<f32, [16]>, index) -> ()
    scf.reduce
  }
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %j = "field.load"(%k, %i) : (!field.array<i32, [16]>, index) -> i32
    %to = arith.index_cast %j : i32 to index
    "field.store"(%zero, %y, %to) : (f32, !field.array<f32, [16]>, index) -> ()
    scf.reduce
  }
  scf.for %i = %c0 to %n step %c1 {
    %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
    %j = "field.load"(%k, %i) : (!field.array<i32, [16]>, index) -> i32
    %to = arith.index_cast %j : i32 to index
    "field.store"(%v, %y, %to) : (f32, !field.array<f32, [16]>, index) -> ()
  }
  return
}
