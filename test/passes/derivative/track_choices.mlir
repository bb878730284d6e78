// RUN: mlirad-opt %s --track-choices | filecheck %s
// RUN: mlirad-opt %s --track-choices --track-choices | filecheck %s

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [64]} : () -> ()
}) {sym_name = "S0"} : () -> ()
"snode.root"() ({
  "snode.place"() {sym_name = "y.grad", element = f32, component_shape = []} : () -> ()
}) {sym_name = "S1"} : () -> ()

// The adjoint of a maximum goes to the iteration that replaced it last, or to the first value.
// CHECK-LABEL: func.func @adds
// CHECK-NOT: grad.
// CHECK: %[[LAST:.*]]:2 = scf.for %[[J:.*]] = %c0 to %c64 step %c1 iter_args(%[[M:.*]] = %{{.*}}, %[[N:.*]] = %c-1) -> (f32, index)
// CHECK: %[[KEEPS:.*]] = arith.cmpf ogt
// CHECK: arith.select %[[KEEPS]], %[[M]]
// CHECK: arith.select %[[KEEPS]], %[[N]], %[[J]] : index
// CHECK: %[[ANY:.*]] = arith.cmpi ne, %[[LAST]]#1, %c-1
// CHECK: scf.if %[[ANY]] {
// CHECK: field.atomic add %{{.*}}, %{{.*}}[%[[LAST]]#1]
// CHECK: arith.select %[[ANY]], %cst
// CHECK-NOT: scf.for
// CHECK: return
func.func @adds() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c63 = arith.constant 63 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [64]>
  %dx = "field.get"() {field = @x.grad} : () -> !field.array<f32, [64]>
  %dy = "field.get"() {field = @y.grad} : () -> !field.array<f32, []>
  %first = "field.load"(%x, %c0) : (!field.array<f32, [64]>, index) -> f32
  %s = "grad.alloc"(%c64) : (index) -> !grad.stack<f32>
  %most = scf.for %j = %c0 to %c64 step %c1 iter_args(%m = %first) -> (f32) {
    "grad.push"(%m, %s, %j) : (f32, !grad.stack<f32>, index) -> ()
    %v = "field.load"(%x, %j) : (!field.array<f32, [64]>, index) -> f32
    %keeps = arith.cmpf ogt, %m, %v : f32
    %n = arith.select %keeps, %m, %v : f32
    scf.yield %n : f32
  }
  %g = "field.load"(%dy) : (!field.array<f32, []>) -> f32
  %left = scf.for %r = %c0 to %c64 step %c1 iter_args(%a = %g) -> (f32) {
    %j = arith.subi %c63, %r : index
    %m = "grad.pop"(%s, %j) : (!grad.stack<f32>, index) -> f32
    %v = "field.load"(%x, %j) : (!field.array<f32, [64]>, index) -> f32
    %keeps = arith.cmpf ogt, %m, %v : f32
    %passed = arith.select %keeps, %a, %zero : f32
    %taken = arith.select %keeps, %zero, %a : f32
    %o = "field.atomic"(%taken, %dx, %j) {kind = "add", field.derivative} : (f32, !field.array<f32, [64]>, index) -> f32
    scf.yield %passed : f32
  }
  "grad.free"(%s) : (!grad.stack<f32>) -> ()
  %o = "field.atomic"(%left, %dx, %c0) {kind = "add", field.derivative} : (f32, !field.array<f32, [64]>, index) -> f32
  return
}

// An index may depend on the number of the reverse loop in other ways.
// CHECK-LABEL: func.func @shifted
// CHECK: scf.if
// CHECK: %[[R:.*]] = arith.subi %{{.*}}, %{{.*}}#1
// CHECK: %[[K:.*]] = arith.subi %c63, %[[R]]
// CHECK: %[[L:.*]] = arith.muli %[[K]]
// CHECK: field.atomic add %{{.*}}, %{{.*}}[%[[L]]]
// CHECK-NOT: scf.for
// CHECK: return
func.func @shifted() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c63 = arith.constant 63 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [64]>
  %dx = "field.get"() {field = @x.grad} : () -> !field.array<f32, [64]>
  %dy = "field.get"() {field = @y.grad} : () -> !field.array<f32, []>
  %first = "field.load"(%x, %c0) : (!field.array<f32, [64]>, index) -> f32
  %s = "grad.alloc"(%c64) : (index) -> !grad.stack<f32>
  %most = scf.for %j = %c0 to %c64 step %c1 iter_args(%m = %first) -> (f32) {
    "grad.push"(%m, %s, %j) : (f32, !grad.stack<f32>, index) -> ()
    %v = "field.load"(%x, %j) : (!field.array<f32, [64]>, index) -> f32
    %keeps = arith.cmpf ogt, %m, %v : f32
    %n = arith.select %keeps, %m, %v : f32
    scf.yield %n : f32
  }
  %g = "field.load"(%dy) : (!field.array<f32, []>) -> f32
  %left = scf.for %r = %c0 to %c64 step %c1 iter_args(%a = %g) -> (f32) {
    %j = arith.subi %c63, %r : index
    %m = "grad.pop"(%s, %j) : (!grad.stack<f32>, index) -> f32
    %v = "field.load"(%x, %j) : (!field.array<f32, [64]>, index) -> f32
    %keeps = arith.cmpf ogt, %m, %v : f32
    %passed = arith.select %keeps, %a, %zero : f32
    %taken = arith.select %keeps, %zero, %a : f32
    %k = arith.subi %c63, %r : index
    %l = arith.muli %k, %c1 : index
    %o = "field.atomic"(%taken, %dx, %l) {kind = "add", field.derivative} : (f32, !field.array<f32, [64]>, index) -> f32
    scf.yield %passed : f32
  }
  "grad.free"(%s) : (!grad.stack<f32>) -> ()
  %o = "field.atomic"(%left, %dx, %c0) {kind = "add", field.derivative} : (f32, !field.array<f32, [64]>, index) -> f32
  return
}

// Other work of a reverse loop stays, and what is kept is decided by the number.
// CHECK-LABEL: func.func @computes
// CHECK-NOT: grad.
// CHECK: %[[LAST:.*]]:2 = scf.for
// CHECK: arith.cmpf olt
// CHECK: scf.for
// CHECK: %[[E:.*]] = arith.subi
// CHECK: %[[D:.*]] = arith.cmpi eq, %[[E]], %[[LAST]]#1
// CHECK: arith.select %[[D]], %cst
// CHECK: %[[TAKEN:.*]] = arith.select %[[D]]
// CHECK: arith.mulf %[[TAKEN]]
func.func @computes() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c63 = arith.constant 63 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [64]>
  %dx = "field.get"() {field = @x.grad} : () -> !field.array<f32, [64]>
  %dy = "field.get"() {field = @y.grad} : () -> !field.array<f32, []>
  %s = "grad.alloc"(%c64) : (index) -> !grad.stack<f32>
  %most = scf.for %j = %c0 to %c64 step %c1 iter_args(%m = %zero) -> (f32) {
    "grad.push"(%m, %s, %j) : (f32, !grad.stack<f32>, index) -> ()
    %v = "field.load"(%x, %j) : (!field.array<f32, [64]>, index) -> f32
    %takes = arith.cmpf olt, %m, %v : f32
    %n = arith.select %takes, %v, %m : f32
    scf.yield %n : f32
  }
  %g = "field.load"(%dy) : (!field.array<f32, []>) -> f32
  %left = scf.for %r = %c0 to %c64 step %c1 iter_args(%a = %g) -> (f32) {
    %j = arith.subi %c63, %r : index
    %m = "grad.pop"(%s, %j) : (!grad.stack<f32>, index) -> f32
    %v = "field.load"(%x, %j) : (!field.array<f32, [64]>, index) -> f32
    %takes = arith.cmpf olt, %m, %v : f32
    %passed = arith.select %takes, %zero, %a : f32
    %taken = arith.select %takes, %a, %zero : f32
    %product = arith.mulf %taken, %v : f32
    %o = "field.atomic"(%product, %dx, %j) {kind = "add", field.derivative} : (f32, !field.array<f32, [64]>, index) -> f32
    scf.yield %passed : f32
  }
  "grad.free"(%s) : (!grad.stack<f32>) -> ()
  return
}

// A reverse that goes forward, and decisions about other numbers, keep the stack.
// CHECK-LABEL: func.func @forward
// CHECK: grad.push
// CHECK: grad.pop
func.func @forward() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [64]>
  %dx = "field.get"() {field = @x.grad} : () -> !field.array<f32, [64]>
  %dy = "field.get"() {field = @y.grad} : () -> !field.array<f32, []>
  %s = "grad.alloc"(%c64) : (index) -> !grad.stack<f32>
  %most = scf.for %j = %c0 to %c64 step %c1 iter_args(%m = %zero) -> (f32) {
    "grad.push"(%m, %s, %j) : (f32, !grad.stack<f32>, index) -> ()
    %v = "field.load"(%x, %j) : (!field.array<f32, [64]>, index) -> f32
    %keeps = arith.cmpf ogt, %m, %v : f32
    %n = arith.select %keeps, %m, %v : f32
    scf.yield %n : f32
  }
  %g = "field.load"(%dy) : (!field.array<f32, []>) -> f32
  %left = scf.for %j = %c0 to %c64 step %c1 iter_args(%a = %g) -> (f32) {
    %m = "grad.pop"(%s, %j) : (!grad.stack<f32>, index) -> f32
    %v = "field.load"(%x, %j) : (!field.array<f32, [64]>, index) -> f32
    %keeps = arith.cmpf ogt, %m, %v : f32
    %passed = arith.select %keeps, %a, %zero : f32
    %taken = arith.select %keeps, %zero, %a : f32
    %o = "field.atomic"(%taken, %dx, %j) {kind = "add", field.derivative} : (f32, !field.array<f32, [64]>, index) -> f32
    scf.yield %passed : f32
  }
  "grad.free"(%s) : (!grad.stack<f32>) -> ()
  return
}
