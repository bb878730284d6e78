// RUN: mlirad-opt %s --merge-iterations | filecheck %s
// RUN: mlirad-opt %s --merge-iterations --merge-iterations | filecheck %s

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
  }) {axes = [0, 1], extents = [512, 1024]} : () -> ()
}) {sym_name = "S0"} : () -> ()
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "y", element = f64, component_shape = []} : () -> ()
  }) {axes = [0, 1], extents = [512, 1024]} : () -> ()
}) {sym_name = "S1"} : () -> ()
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "odd", element = f32, component_shape = []} : () -> ()
  }) {axes = [0, 1], extents = [512, 1026]} : () -> ()
}) {sym_name = "S2"} : () -> ()
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "z", element = f32, component_shape = []} : () -> ()
  }) {axes = [0, 1], extents = [512, 1024]} : () -> ()
}) {sym_name = "S4"} : () -> ()
"snode.root"() ({
  "snode.place"() {sym_name = "s", element = f32, component_shape = []} : () -> ()
}) {sym_name = "S3"} : () -> ()

// Four elements of a row, which may be any one; the cell of a sum is the same for all.
// CHECK-LABEL: func.func @sum
// CHECK: scf.parallel (%[[I:.*]], %[[J:.*]]) = (%c0, %c0) to (%c512, %c256{{[_0-9]*}})
// CHECK: %[[FIRST:.*]] = arith.muli %[[J]], %c4
// CHECK: scf.for %[[K:.*]] = %c0{{[_0-9]*}} to %c4{{[_0-9]*}} step %c1{{[_0-9]*}} {
// CHECK-NEXT: %[[PLACE:.*]] = arith.addi %[[FIRST]], %[[K]]
// CHECK-NEXT: %[[ROW:.*]] = arith.subi %[[I]]
// CHECK-NEXT: field.load %{{.*}}[%[[ROW]], %[[PLACE]]]
// CHECK-NEXT: field.atomic
func.func @sum() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c512 = arith.constant 512 : index
  %c1024 = arith.constant 1024 : index
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [512, 1024]>
  %s = "field.get"() {field = @s} : () -> !field.array<f32, []>
  scf.parallel (%i, %j) = (%c0, %c0) to (%c512, %c1024) step (%c1, %c1) {
    %r = arith.subi %i, %c1 : index
    %v = "field.load"(%x, %r, %j) : (!field.array<f32, [512, 1024]>, index, index) -> f32
    %o = "field.atomic"(%v, %s) {field.derivative, kind = "add", field.reduce} : (f32, !field.array<f32, []>) -> f32
    scf.reduce
  }
  return
}

// The widest elements say how many.
// CHECK-LABEL: func.func @wide
// CHECK: scf.parallel {{.*}} to (%c512, %c512{{[_0-9]*}})
// CHECK: scf.for %{{.*}} = %c0{{[_0-9]*}} to %c2
func.func @wide() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c512 = arith.constant 512 : index
  %c1024 = arith.constant 1024 : index
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [512, 1024]>
  %y = "field.get"() {field = @y} : () -> !field.array<f64, [512, 1024]>
  scf.parallel (%i, %j) = (%c0, %c0) to (%c512, %c1024) step (%c1, %c1) {
    %v = "field.load"(%x, %i, %j) : (!field.array<f32, [512, 1024]>, index, index) -> f32
    %w = arith.extf %v : f32 to f64
    "field.store"(%w, %y, %i, %j) : (f64, !field.array<f64, [512, 1024]>, index, index) -> ()
    scf.reduce
  }
  return
}

// Of a stencil, the 16 bytes of a row that begin at a multiple of four: together where none is outside of
// the box and of the branch, else one after another.
// CHECK-LABEL: func.func @stencil
// CHECK: scf.parallel (%[[I:.*]], %[[J:.*]]) = (%c1, %c0{{[_0-9]*}}) to (%c511, %c256{{[_0-9]*}})
// CHECK: %[[FIRST:.*]] = arith.muli %[[J]], %c4
// CHECK: %[[LEFT:.*]] = arith.cmpi sge, %[[FIRST]], %c1
// CHECK: %[[RIGHT:.*]] = arith.cmpi sge, %{{.*}}, %c-1018
// CHECK: %[[BOTH:.*]] = arith.andi %[[LEFT]], %[[RIGHT]]
// CHECK: scf.if %[[BOTH]]
// CHECK: field.load %0[%[[I]]
// CHECK-NEXT: field.load %0[%[[I]], %{{.*}}] {field.aligned = 16 : i64}
// CHECK-NOT: scf.if
// CHECK: field.store {{.*}} {field.aligned = 16 : i64}
// CHECK-NEXT: field.store
// CHECK-NEXT: field.store
// CHECK-NEXT: field.store
// CHECK-NEXT: } else {
// CHECK: %[[LOW:.*]] = arith.maxsi %[[FIRST]], %c1
// CHECK: scf.for %{{.*}} = %[[LOW]] to
// CHECK: scf.if
// CHECK: loop_annotation = #loop_annotation
func.func @stencil() {
  %c1 = arith.constant 1 : index
  %c511 = arith.constant 511 : index
  %c1023 = arith.constant 1023 : index
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [512, 1024]>
  %z = "field.get"() {field = @z} : () -> !field.array<f32, [512, 1024]>
  scf.parallel (%i, %j) = (%c1, %c1) to (%c511, %c1023) step (%c1, %c1) {
    %k = arith.subi %j, %c1 : index
    %l = arith.addi %j, %c1 : index
    %u = "field.load"(%x, %i, %k) : (!field.array<f32, [512, 1024]>, index, index) -> f32
    %inside = arith.cmpi slt, %l, %c1023 : index
    %w = scf.if %inside -> f32 {
      %v = "field.load"(%x, %i, %l) : (!field.array<f32, [512, 1024]>, index, index) -> f32
      %s = arith.addf %u, %v : f32
      scf.yield %s : f32
    } else {
      scf.yield %u : f32
    }
    "field.store"(%w, %z, %i, %j) : (f32, !field.array<f32, [512, 1024]>, index, index) -> ()
    scf.reduce
  }
  return
}

// Rows that begin anywhere, arrays of which nothing is known, exact sums, atomic updates, elements of which
// memory says the place, branches of which it decides, and few iterations stay as they are.
// CHECK-LABEL: func.func @others
// CHECK-NOT: scf.for
// CHECK: return
func.func @others(%a: !field.array<f32, [512, 1024]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c100 = arith.constant 100 : index
  %c512 = arith.constant 512 : index
  %c1024 = arith.constant 1024 : index
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [512, 1024]>
  %odd = "field.get"() {field = @odd} : () -> !field.array<f32, [512, 1026]>
  %s = "field.get"() {field = @s} : () -> !field.array<f32, []>
  scf.parallel (%i, %j) = (%c0, %c0) to (%c512, %c1024) step (%c1, %c1) {
    %v = "field.load"(%odd, %i, %j) : (!field.array<f32, [512, 1026]>, index, index) -> f32
    scf.reduce
  }
  scf.parallel (%i, %j) = (%c0, %c0) to (%c512, %c1024) step (%c1, %c1) {
    %v = "field.load"(%a, %i, %j) : (!field.array<f32, [512, 1024]>, index, index) -> f32
    scf.reduce
  }
  scf.parallel (%i, %j) = (%c0, %c0) to (%c512, %c1024) step (%c1, %c1) {
    %v = "field.load"(%x, %i, %j) : (!field.array<f32, [512, 1024]>, index, index) -> f32
    %o = "field.atomic"(%v, %s) {kind = "add", field.reduce, field.exact} : (f32, !field.array<f32, []>) -> f32
    scf.reduce
  }
  scf.parallel (%i, %j) = (%c0, %c0) to (%c512, %c1024) step (%c1, %c1) {
    %v = "field.load"(%x, %i, %j) : (!field.array<f32, [512, 1024]>, index, index) -> f32
    %o = "field.atomic"(%v, %x, %i, %j) {field.derivative, kind = "add"} : (f32, !field.array<f32, [512, 1024]>, index, index) -> f32
    scf.reduce
  }
  scf.parallel (%i, %j) = (%c0, %c0) to (%c100, %c1024) step (%c1, %c1) {
    %v = "field.load"(%x, %i, %j) : (!field.array<f32, [512, 1024]>, index, index) -> f32
    scf.reduce
  }
  scf.parallel (%i, %j) = (%c0, %c0) to (%c512, %c1024) step (%c1, %c1) {
    %v = "field.load"(%x, %i, %j) : (!field.array<f32, [512, 1024]>, index, index) -> f32
    %m = arith.fptosi %v : f32 to i32
    %n = arith.index_cast %m : i32 to index
    %r = arith.addi %n, %j : index
    %w = "field.load"(%x, %i, %r) : (!field.array<f32, [512, 1024]>, index, index) -> f32
    scf.reduce
  }
  scf.parallel (%i, %j) = (%c0, %c0) to (%c512, %c1024) step (%c1, %c1) {
    %v = "field.load"(%x, %i, %j) : (!field.array<f32, [512, 1024]>, index, index) -> f32
    %is = arith.cmpf ogt, %v, %v : f32
    scf.if %is {
      "field.store"(%v, %x, %i, %j) : (f32, !field.array<f32, [512, 1024]>, index, index) -> ()
    }
    scf.reduce
  }
  return
}
