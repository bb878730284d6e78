// RUN: mlirad-opt %s --lower-activity | filecheck %s
// RUN: mlirad-opt %s --lower-activity --lower-activity | filecheck %s
// RUN: mlirad-opt %s --lower-activity=derivatives=true | filecheck %s --check-prefix=CLEARED

"snode.root"() ({
  "snode.pointer"() ({
    "snode.bitmasked"() ({
      "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
      "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
    }) {axes = [0], extents = [4], activity = @b} : () -> ()
  }) {axes = [0], extents = [8], activity = @p} : () -> ()
  "snode.dynamic"() ({
    "snode.place"() {sym_name = "l", element = i32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16], activity = @d} : () -> ()
}) {sym_name = "S0"} : () -> ()
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "p", element = i8, component_shape = []} : () -> ()
    "snode.dense"() ({
      "snode.place"() {sym_name = "b", element = i8, component_shape = []} : () -> ()
    }) {axes = [0], extents = [4]} : () -> ()
  }) {axes = [0], extents = [8]} : () -> ()
  "snode.place"() {sym_name = "d", element = i32, component_shape = []} : () -> ()
}) {sym_name = "activities"} : () -> ()

// The innermost byte decides; around an inactive cell all are set, outermost first. The cell is known
// to be one of the block's.
// CHECK-LABEL: func.func @activate
// CHECK-DAG: %[[B:.*]] = field.get @b :
// CHECK-DAG: %[[P:.*]] = field.get @p :
// CHECK: scf.for %[[I:[^ ]*]] =
// CHECK-NEXT: %[[BYTE:.*]] = field.load %[[B]][%[[I]]]
// CHECK: cmpi eq, %[[BYTE]]
// CHECK: scf.if
// CHECK: %[[CELL:.*]] = arith.divui %[[I]]
// CHECK: field.store %{{.*}}, %[[P]][%[[CELL]]]
// CHECK: field.store %{{.*}}, %[[B]][%[[I]]]
func.func @activate() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  scf.for %i = %c0 to %c32 step %c1 {
    "snode.activate"(%i) {activity = @b} : (index) -> ()
  }
  return
}

// Of a cell of which that is not known, it is asked.
// CHECK-LABEL: func.func @outside
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult
// CHECK: field.assert %[[INSIDE]],
// CHECK: scf.if %[[INSIDE]]
// CHECK: field.load
func.func @outside(%i: index) {
  "snode.activate"(%i) {activity = @p} : (index) -> ()
  return
}

// What lies below becomes 0, but for adjoints, and inactive.
// CHECK-LABEL: func.func @deactivate_pointer
// CHECK-DAG: %[[P:.*]] = field.get @p :
// CHECK-DAG: %[[B:.*]] = field.get @b :
// CHECK: scf.for
// CHECK: %[[BYTE:.*]] = field.load %[[B]]
// CHECK: cmpi ne, %[[BYTE]]
// CHECK: scf.if
// CHECK: %[[X:.*]] = field.get @x :
// CHECK: field.store %{{.*}}, %[[X]]
// CHECK-NOT: x.grad
// CHECK: field.store %{{.*}}, %[[B]]
// CHECK: field.store %{{.*}}, %[[P]]
// Derivatives before, where they are not 0, of what is still active.
// CLEARED-LABEL: func.func @deactivate_pointer
// CLEARED-NOT: field.store
// CLEARED: %[[GRADIENT:.*]] = field.get @x.grad :
// CLEARED: %[[VALUE:.*]] = field.load %[[GRADIENT]]
// CLEARED: %[[BITS:.*]] = arith.bitcast %[[VALUE]] : f32 to i32
// CLEARED: cmpi ne, %[[BITS]]
// CLEARED: scf.if
// CLEARED: field.store %{{.*}}, %[[GRADIENT]]
// CLEARED-NOT: field.store
// CLEARED: %[[X:.*]] = field.get @x :
// CLEARED: field.store %{{.*}}, %[[X]]
func.func @deactivate_pointer(%i: index) {
  "snode.deactivate"(%i) {activity = @p} : (index) -> ()
  return
}

// A bitmasked block keeps what it holds, and that it holds something.
// CHECK-LABEL: func.func @deactivate_bitmasked
// CHECK-NOT: scf.for
// CHECK: %[[HELD:.*]] = arith.constant 2 : i8
// CHECK: field.store %[[HELD]]
func.func @deactivate_bitmasked(%i: index) {
  "snode.deactivate"(%i) {activity = @b} : (index) -> ()
  return
}

// CHECK-LABEL: func.func @append
// CHECK: %[[D:.*]] = field.get @d :
// CHECK: %[[NUMBER:.*]] = field.atomic add %{{.*}}, %[[D]][]
// CHECK: %[[ROOM:.*]] = arith.cmpi slt, %[[NUMBER]]
// CHECK: field.assert %[[ROOM]],
// CHECK: else
// CHECK: field.atomic min %{{.*}}, %[[D]][]
func.func @append() -> i32 {
  %k = "snode.append"() {activity = @d} : () -> i32
  return %k : i32
}

// CHECK-LABEL: func.func @items
// CHECK: %[[LENGTH:.*]] = field.load
// CHECK: arith.cmpi sgt, %[[LENGTH]]
func.func @items(%i: index) -> (i1, i32) {
  %a = "snode.is_active"(%i) {activity = @d} : (index) -> i1
  %n = "snode.length"() {activity = @d} : () -> i32
  return %a, %n : i1, i32
}
