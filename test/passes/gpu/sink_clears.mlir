// RUN: mlirad-opt %s --sink-clears | filecheck %s
// RUN: mlirad-opt %s --sink-clears --sink-clears | filecheck %s

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "y", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [64]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// What was loaded is stored first, also in a branch.
// CHECK-LABEL: func.func @copy
// CHECK: scf.parallel
// CHECK-NEXT: field.load
// CHECK-NEXT: field.load
// CHECK-NEXT: arith.addf
// CHECK-NEXT: scf.if
// CHECK-NEXT: field.store
// CHECK: }
// CHECK-NEXT: field.store %cst
// CHECK-NEXT: scf.reduce
func.func @copy(%some: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [64]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [64]>
  scf.parallel (%i) = (%c0) to (%c64) step (%c1) {
    %v = "field.load"(%y, %i) : (!field.array<f32, [64]>, index) -> f32
    "field.store"(%zero, %y, %i) : (f32, !field.array<f32, [64]>, index) -> ()
    %w = "field.load"(%x, %i) : (!field.array<f32, [64]>, index) -> f32
    %sum = arith.addf %v, %w : f32
    scf.if %some {
      "field.store"(%sum, %x, %i) : (f32, !field.array<f32, [64]>, index) -> ()
    }
    scf.reduce
  }
  return
}

// A store stays in front of what may touch its array, and other numbers stay where they are.
// CHECK-LABEL: func.func @others
// CHECK: field.store %cst
// CHECK-NEXT: field.load %{{.*}}[%c0]
// CHECK-NEXT: field.store
// CHECK-NEXT: field.store %cst_0
// CHECK-NEXT: field.store %cst
// CHECK-NEXT: field.load
func.func @others(%a: !field.array<f32, [64]>, %b: !field.array<f32, [64]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [64]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [64]>
  scf.parallel (%i) = (%c0) to (%c64) step (%c1) {
    "field.store"(%zero, %y, %i) : (f32, !field.array<f32, [64]>, index) -> ()
    %v = "field.load"(%y, %c0) : (!field.array<f32, [64]>, index) -> f32
    "field.store"(%v, %x, %i) : (f32, !field.array<f32, [64]>, index) -> ()
    "field.store"(%one, %y, %i) : (f32, !field.array<f32, [64]>, index) -> ()
    "field.store"(%zero, %a, %i) : (f32, !field.array<f32, [64]>, index) -> ()
    %w = "field.load"(%b, %i) : (!field.array<f32, [64]>, index) -> f32
    "field.store"(%w, %x, %i) : (f32, !field.array<f32, [64]>, index) -> ()
    scf.reduce
  }
  return
}

// Elements that are never the same are not those of the store.
// CHECK-LABEL: func.func @planes
// CHECK: scf.parallel
// CHECK-NEXT: field.load
// CHECK-NEXT: arith.addi
// CHECK-NEXT: field.load
// CHECK-NEXT: field.store
// CHECK-NEXT: field.store %cst
func.func @planes() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c63 = arith.constant 63 : index
  %zero = arith.constant 0.0 : f32
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [64]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [64]>
  scf.parallel (%i) = (%c0) to (%c63) step (%c1) {
    %v = "field.load"(%y, %i) : (!field.array<f32, [64]>, index) -> f32
    "field.store"(%zero, %y, %i) : (f32, !field.array<f32, [64]>, index) -> ()
    %j = arith.addi %i, %c1 : index
    %w = "field.load"(%y, %j) : (!field.array<f32, [64]>, index) -> f32
    "field.store"(%w, %x, %i) : (f32, !field.array<f32, [64]>, index) -> ()
    scf.reduce
  }
  return
}
