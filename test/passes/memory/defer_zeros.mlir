// RUN: mlirad-opt %s --split-input-file --defer-zeros | filecheck %s
// RUN: mlirad-opt %s --split-input-file --defer-zeros --defer-zeros | filecheck %s

// Each iteration takes what the field has at its own element: the box of all of them is left.
// CHECK: field.later = {{\[\[}}@y.grad, {{\[\[\[}}array<i64: 1>, array<i64: 254>], [array<i64: 1>, array<i64: 254>]]]]]
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
  }) {axes = [0, 1], extents = [256, 256]} : () -> ()
}) {sym_name = "S0"} : () -> ()
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0, 1], extents = [256, 256]} : () -> ()
}) {sym_name = "S1"} : () -> ()
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "y", element = f32, component_shape = [], adjoint = @y.grad} : () -> ()
  }) {axes = [0, 1], extents = [256, 256]} : () -> ()
}) {sym_name = "S2"} : () -> ()
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "y.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0, 1], extents = [256, 256]} : () -> ()
}) {sym_name = "S3"} : () -> ()

// CHECK-LABEL: func.func @own_element
// CHECK: field.load
// CHECK-NOT: field.store
// CHECK: return
func.func @own_element() {
  %c1 = arith.constant 1 : index
  %c255 = arith.constant 255 : index
  %zero = arith.constant 0.0 : f32
  %x = "field.get"() {field = @x.grad} : () -> !field.array<f32, [256, 256]>
  %y = "field.get"() {field = @y.grad} : () -> !field.array<f32, [256, 256]>
  scf.parallel (%i, %j) = (%c1, %c1) to (%c255, %c255) step (%c1, %c1) {
    %v = "field.load"(%y, %i, %j) : (!field.array<f32, [256, 256]>, index, index) -> f32
    "field.store"(%zero, %y, %i, %j) : (f32, !field.array<f32, [256, 256]>, index, index) -> ()
    %right = arith.addi %j, %c1 : index
    %0 = "field.atomic"(%v, %x, %i, %right) {kind = "add"} : (f32, !field.array<f32, [256, 256]>, index, index) -> f32
    scf.reduce
  }
  return
}

// -----

// The components of a vector are one box, of the row that the launch is given; it adds to another.
// CHECK: field.later = {{\[\[}}@v.grad, {{\[\[\[}}array<i64: 0, 0, 1>, array<i64: 0, 0, 1>], [array<i64: 0>, array<i64: 65535>], [array<i64: 0>, array<i64: 1>]]]]]
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "v", element = f32, component_shape = [2], adjoint = @v.grad} : () -> ()
  }) {axes = [0, 1], extents = [8, 65536]} : () -> ()
}) {sym_name = "S0"} : () -> ()
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "v.grad", element = f32, component_shape = [2]} : () -> ()
  }) {axes = [0, 1], extents = [8, 65536]} : () -> ()
}) {sym_name = "S1"} : () -> ()

// CHECK-LABEL: func.func @components
// CHECK-NOT: field.store
// CHECK: return
func.func @components(%t: i32 {field.argument = 0}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 65536 : index
  %zero = arith.constant 0.0 : f32
  %g = "field.get"() {field = @v.grad} : () -> !field.array<f32, [8, 65536, 2]>
  %now = arith.index_cast %t : i32 to index
  %before = arith.subi %now, %c1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %a = "field.load"(%g, %now, %i, %c0) : (!field.array<f32, [8, 65536, 2]>, index, index, index) -> f32
    "field.store"(%zero, %g, %now, %i, %c0) : (f32, !field.array<f32, [8, 65536, 2]>, index, index, index) -> ()
    %b = "field.load"(%g, %now, %i, %c1) : (!field.array<f32, [8, 65536, 2]>, index, index, index) -> f32
    "field.store"(%zero, %g, %now, %i, %c1) : (f32, !field.array<f32, [8, 65536, 2]>, index, index, index) -> ()
    %s = arith.addf %a, %b : f32
    %0 = "field.atomic"(%s, %g, %before, %i, %c0) {kind = "add"} : (f32, !field.array<f32, [8, 65536, 2]>, index, index, index) -> f32
    scf.reduce
  }
  return
}

// -----

// Zeros that are read, or may be; that are not of a box, or not zeros; and those of small fields, and
// of what is no derivative, are written at once.
// CHECK-NOT: field.later
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
  }) {axes = [0, 1], extents = [256, 256]} : () -> ()
}) {sym_name = "S0"} : () -> ()
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0, 1], extents = [256, 256]} : () -> ()
}) {sym_name = "S1"} : () -> ()
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "s", element = f32, component_shape = [], adjoint = @s.grad} : () -> ()
  }) {axes = [0, 1], extents = [16, 16]} : () -> ()
}) {sym_name = "S2"} : () -> ()
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "s.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0, 1], extents = [16, 16]} : () -> ()
}) {sym_name = "S3"} : () -> ()

// CHECK-LABEL: func.func @read_behind
// CHECK: field.store
// CHECK: return
func.func @read_behind() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 256 : index
  %zero = arith.constant 0.0 : f32
  %g = "field.get"() {field = @x.grad} : () -> !field.array<f32, [256, 256]>
  scf.parallel (%i, %j) = (%c0, %c0) to (%n, %n) step (%c1, %c1) {
    "field.store"(%zero, %g, %i, %j) : (f32, !field.array<f32, [256, 256]>, index, index) -> ()
    %v = "field.load"(%g, %i, %j) : (!field.array<f32, [256, 256]>, index, index) -> f32
    "field.print"(%v) {format = "{}"} : (f32) -> ()
    scf.reduce
  }
  return
}

// -----

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
  }) {axes = [0, 1], extents = [256, 256]} : () -> ()
}) {sym_name = "S0"} : () -> ()
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0, 1], extents = [256, 256]} : () -> ()
}) {sym_name = "S1"} : () -> ()
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "s", element = f32, component_shape = [], adjoint = @s.grad} : () -> ()
  }) {axes = [0, 1], extents = [16, 16]} : () -> ()
}) {sym_name = "S2"} : () -> ()
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "s.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0, 1], extents = [16, 16]} : () -> ()
}) {sym_name = "S3"} : () -> ()

// Another iteration's element is read, which it may have set to 0.
// CHECK-NOT: field.later
// CHECK-LABEL: func.func @others
// CHECK: field.store
// CHECK: field.store
// CHECK: field.store
// CHECK: field.store
// CHECK: return
func.func @others(%any: i1 {field.argument = 0}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c15 = arith.constant 15 : index
  %n = arith.constant 255 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %g = "field.get"() {field = @x.grad} : () -> !field.array<f32, [256, 256]>
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [256, 256]>
  %s = "field.get"() {field = @s.grad} : () -> !field.array<f32, [16, 16]>
  scf.parallel (%i, %j) = (%c0, %c0) to (%n, %n) step (%c1, %c1) {
    %right = arith.addi %j, %c1 : index
    %v = "field.load"(%g, %i, %right) : (!field.array<f32, [256, 256]>, index, index) -> f32
    "field.store"(%zero, %g, %i, %j) : (f32, !field.array<f32, [256, 256]>, index, index) -> ()
    "field.store"(%zero, %x, %i, %j) : (f32, !field.array<f32, [256, 256]>, index, index) -> ()
    scf.reduce
  }
  scf.parallel (%i, %j) = (%c0, %c0) to (%c15, %c15) step (%c1, %c1) {
    "field.store"(%zero, %s, %i, %j) : (f32, !field.array<f32, [16, 16]>, index, index) -> ()
    "field.store"(%one, %s, %j, %i) : (f32, !field.array<f32, [16, 16]>, index, index) -> ()
    scf.reduce
  }
  return
}

// -----

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
  }) {axes = [0, 1], extents = [256, 256]} : () -> ()
}) {sym_name = "S0"} : () -> ()
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0, 1], extents = [256, 256]} : () -> ()
}) {sym_name = "S1"} : () -> ()

// Where a condition decides, no box is set to 0.
// CHECK-NOT: field.later
// CHECK-LABEL: func.func @some
// CHECK: field.store
// CHECK: return
func.func @some(%any: i1 {field.argument = 0}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 256 : index
  %zero = arith.constant 0.0 : f32
  %g = "field.get"() {field = @x.grad} : () -> !field.array<f32, [256, 256]>
  scf.parallel (%i, %j) = (%c0, %c0) to (%n, %n) step (%c1, %c1) {
    scf.if %any {
      "field.store"(%zero, %g, %i, %j) : (f32, !field.array<f32, [256, 256]>, index, index) -> ()
    }
    scf.reduce
  }
  return
}

// -----

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0, 1], extents = [256, 256]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// Elements with others among them cost as much to write later.
// CHECK-NOT: field.later
// CHECK-LABEL: func.func @beside_others
// CHECK: field.store
// CHECK: return
func.func @beside_others() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 256 : index
  %zero = arith.constant 0.0 : f32
  %g = "field.get"() {field = @x.grad} : () -> !field.array<f32, [256, 256]>
  scf.parallel (%i, %j) = (%c0, %c0) to (%n, %n) step (%c1, %c1) {
    "field.store"(%zero, %g, %i, %j) : (f32, !field.array<f32, [256, 256]>, index, index) -> ()
    scf.reduce
  }
  return
}

// -----

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
  }) {axes = [0, 1], extents = [256, 256]} : () -> ()
}) {sym_name = "S0"} : () -> ()
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0, 1], extents = [256, 256]} : () -> ()
}) {sym_name = "S1"} : () -> ()

// To store few zeros takes less time than to defer them.
// CHECK-NOT: field.later
// CHECK-LABEL: func.func @few
// CHECK: field.store
// CHECK: return
func.func @few() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 100 : index
  %zero = arith.constant 0.0 : f32
  %g = "field.get"() {field = @x.grad} : () -> !field.array<f32, [256, 256]>
  scf.parallel (%i, %j) = (%c0, %c0) to (%n, %n) step (%c1, %c1) {
    "field.store"(%zero, %g, %i, %j) : (f32, !field.array<f32, [256, 256]>, index, index) -> ()
    scf.reduce
  }
  return
}
