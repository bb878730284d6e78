// RUN: mlirad-opt %s --hoist-loads | filecheck %s
// RUN: mlirad-opt %s --hoist-loads --hoist-loads | filecheck %s

"snode.root"() ({
  "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
  "snode.place"() {sym_name = "y", element = f32, component_shape = []} : () -> ()
}) {sym_name = "S0"} : () -> ()

// CHECK-LABEL: func.func @loop_that_runs
// CHECK: %[[V:.*]] = field.load
// CHECK-NEXT: scf.for
// CHECK-NEXT: field.store %[[V]],
func.func @loop_that_runs() {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, []>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, []>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %c1 step %c1 {
    %v = "field.load"(%x) : (!field.array<f32, []>) -> f32
    "field.store"(%v, %y) : (f32, !field.array<f32, []>) -> ()
  }
  return
}

// CHECK-LABEL: func.func @loop_that_may_not_run
// CHECK: %[[RUNS:.*]] = arith.cmpi slt, %{{.*}}, %arg0
// CHECK-NEXT: %[[V:.*]] = scf.if %[[RUNS]]
// CHECK-NEXT: field.load
// CHECK: else
// CHECK: scf.for
// CHECK-NEXT: field.store %[[V]],
func.func @loop_that_may_not_run(%n: index) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, []>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, []>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %v = "field.load"(%x) : (!field.array<f32, []>) -> f32
    "field.store"(%v, %y) : (f32, !field.array<f32, []>) -> ()
  }
  return
}

// CHECK-LABEL: func.func @written_in_the_loop
// CHECK: scf.for
// CHECK-NEXT: field.load
func.func @written_in_the_loop() {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, []>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %c1 step %c1 {
    %v = "field.load"(%x) : (!field.array<f32, []>) -> f32
    "field.store"(%v, %x) : (f32, !field.array<f32, []>) -> ()
  }
  return
}

// CHECK-LABEL: func.func @index_of_the_loop
// CHECK: scf.for
// CHECK-NEXT: field.load
func.func @index_of_the_loop(%x: !field.array<f32, [-1]>) {
  %y = "field.get"() {field = @y} : () -> !field.array<f32, []>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %c1 step %c1 {
    %v = "field.load"(%x, %i) : (!field.array<f32, [-1]>, index) -> f32
    "field.store"(%v, %y) : (f32, !field.array<f32, []>) -> ()
  }
  return
}

// CHECK-LABEL: func.func @ndarrays_may_overlap
// CHECK: scf.for
// CHECK-NEXT: field.load
func.func @ndarrays_may_overlap(%x: !field.array<f32, []>, %y: !field.array<f32, []>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %c1 step %c1 {
    %v = "field.load"(%x) : (!field.array<f32, []>) -> f32
    "field.store"(%v, %y) : (f32, !field.array<f32, []>) -> ()
  }
  return
}

// CHECK-LABEL: func.func @branch_in_the_loop
// CHECK: scf.if
// CHECK-NEXT: field.load
func.func @branch_in_the_loop(%p: i1) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, []>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, []>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %c1 step %c1 {
    scf.if %p {
      %v = "field.load"(%x) : (!field.array<f32, []>) -> f32
      "field.store"(%v, %y) : (f32, !field.array<f32, []>) -> ()
    }
  }
  return
}
