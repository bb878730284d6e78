// RUN: mlirad-opt %s --split-input-file --mark-touched-rows | filecheck %s

// The middle of a row is set, another one is read.

// CHECK: field.sets = {{\[\[}}@x, {{\[\[\[}}array<i64: 0, 3, 1>, array<i64: 0, 3, 1>], [array<i64: 1>, array<i64: 65534>]]]]]
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
  }) {axes = [0, 1], extents = [8, 65536]} : () -> ()
}) {sym_name = "S0"} : () -> ()

func.func @step(%t: index {field.argument = 3}) {
  %c1 = arith.constant 1 : index
  %c65535 = arith.constant 65535 : index
  %before = arith.subi %t, %c1 : index
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [8, 65536]>
  scf.parallel (%i) = (%c1) to (%c65535) step (%c1) {
    %0 = "field.load"(%x, %before, %i) : (!field.array<f32, [8, 65536]>, index, index) -> f32
    "field.store"(%0, %x, %t, %i) : (f32, !field.array<f32, [8, 65536]>, index, index) -> ()
    scf.reduce
  }
  return
}

// -----

// All is set, one component after the other, before it is read in another loop.

// CHECK: field.sets = {{\[\[}}@v, {{\[\[\[}}array<i64: 0>, array<i64: 65535>], [array<i64: 0>, array<i64: 0>]], {{\[\[}}array<i64: 0>, array<i64: 65535>], [array<i64: 1>, array<i64: 1>]]]]]
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "v", element = f32, component_shape = [2]} : () -> ()
  }) {axes = [0], extents = [65536]} : () -> ()
}) {sym_name = "S0"} : () -> ()

func.func @set_and_read(%f: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c65536 = arith.constant 65536 : index
  %v = "field.get"() {field = @v} : () -> !field.array<f32, [65536, 2]>
  scf.parallel (%i) = (%c0) to (%c65536) step (%c1) {
    "field.store"(%f, %v, %i, %c0) : (f32, !field.array<f32, [65536, 2]>, index, index) -> ()
    "field.store"(%f, %v, %i, %c1) : (f32, !field.array<f32, [65536, 2]>, index, index) -> ()
    scf.reduce
  }
  scf.parallel (%i) = (%c0) to (%c65536) step (%c1) {
    %0 = "field.load"(%v, %i, %c0) : (!field.array<f32, [65536, 2]>, index, index) -> f32
    "field.store"(%0, %v, %i, %c1) : (f32, !field.array<f32, [65536, 2]>, index, index) -> ()
    scf.reduce
  }
  return
}

// -----

// Read in a loop in front; in the same iteration; set under a condition; in every second place; at
// two places of a loop's; in rows that one loop bounds for another; in a row that data gives.

// CHECK-NOT: field.sets
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "a", element = f32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "b", element = f32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "c", element = f32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "d", element = f32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "k", element = i32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [65536]} : () -> ()
  "snode.dense"() ({
    "snode.place"() {sym_name = "e", element = f32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "f", element = f32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "g", element = f32, component_shape = []} : () -> ()
  }) {axes = [0, 1], extents = [512, 512]} : () -> ()
}) {sym_name = "S0"} : () -> ()

func.func @others(%v: f32, %p: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c512 = arith.constant 512 : index
  %c65536 = arith.constant 65536 : index
  %a = "field.get"() {field = @a} : () -> !field.array<f32, [65536]>
  %b = "field.get"() {field = @b} : () -> !field.array<f32, [65536]>
  %c = "field.get"() {field = @c} : () -> !field.array<f32, [65536]>
  %d = "field.get"() {field = @d} : () -> !field.array<f32, [65536]>
  %k = "field.get"() {field = @k} : () -> !field.array<i32, [65536]>
  %e = "field.get"() {field = @e} : () -> !field.array<f32, [512, 512]>
  %f = "field.get"() {field = @f} : () -> !field.array<f32, [512, 512]>
  %g = "field.get"() {field = @g} : () -> !field.array<f32, [512, 512]>
  %first = "field.load"(%a, %c2) : (!field.array<f32, [65536]>, index) -> f32
  scf.parallel (%i) = (%c0) to (%c65536) step (%c1) {
    "field.store"(%first, %a, %i) : (f32, !field.array<f32, [65536]>, index) -> ()
    %old = "field.load"(%b, %i) : (!field.array<f32, [65536]>, index) -> f32
    "field.store"(%old, %b, %i) : (f32, !field.array<f32, [65536]>, index) -> ()
    scf.if %p {
      "field.store"(%v, %c, %i) : (f32, !field.array<f32, [65536]>, index) -> ()
    }
    scf.reduce
  }
  scf.parallel (%i) = (%c0) to (%c65536) step (%c2) {
    "field.store"(%v, %d, %i) : (f32, !field.array<f32, [65536]>, index) -> ()
    scf.reduce
  }
  scf.parallel (%i) = (%c0) to (%c512) step (%c1) {
    "field.store"(%v, %e, %i, %i) : (f32, !field.array<f32, [512, 512]>, index, index) -> ()
    scf.for %j = %c0 to %i step %c1 {
      "field.store"(%v, %f, %i, %j) : (f32, !field.array<f32, [512, 512]>, index, index) -> ()
    }
    %n = "field.load"(%k, %c0) : (!field.array<i32, [65536]>, index) -> i32
    %row = arith.index_cast %n : i32 to index
    "field.store"(%v, %g, %row, %i) : (f32, !field.array<f32, [512, 512]>, index, index) -> ()
    scf.reduce
  }
  return
}
