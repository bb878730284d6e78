// RUN: mlirad-opt %s --canonicalize | filecheck %s
// RUN: mlirad-opt %s --cse | filecheck %s --check-prefix=CSE

// What is made and what is read goes if nobody uses it.
// CHECK-LABEL: func.func @unused
// CHECK-NEXT: return
func.func @unused(%n: index, %x: !field.array<f32, [-1]>, %s: !grad.stack<f32>, %l: !grad.log<f32, 1>) {
  %a = "field.alloca"() : () -> !field.array<f32, []>
  %t = "grad.alloc"(%n) : (index) -> !grad.stack<f32>
  %m = "grad.open"(%n) : (index) -> !grad.log<f32, 1>
  %v = "field.load"(%x, %n) : (!field.array<f32, [-1]>, index) -> f32
  %w = "grad.pop"(%s, %n) : (!grad.stack<f32>, index) -> f32
  %k = "grad.mark"(%l) : (!grad.log<f32, 1>) -> index
  return
}

// What is written stays, also if its old value is not used.
// CHECK-LABEL: func.func @written
// CHECK: field.store
// CHECK: field.atomic
// CHECK: grad.push
// CHECK: grad.record
// CHECK: grad.undo
// CHECK: grad.free
// CHECK: grad.close
// CHECK: field.print
// CHECK: field.assert
func.func @written(%n: index, %x: !field.array<f32, [-1]>, %s: !grad.stack<f32>, %l: !grad.log<f32, 1>, %v: f32, %c: i1) {
  "field.store"(%v, %x, %n) : (f32, !field.array<f32, [-1]>, index) -> ()
  %old = "field.atomic"(%v, %x, %n) {kind = "add"} : (f32, !field.array<f32, [-1]>, index) -> f32
  "grad.push"(%v, %s, %n) : (f32, !grad.stack<f32>, index) -> ()
  "grad.record"(%v, %l, %n) : (f32, !grad.log<f32, 1>, index) -> ()
  "grad.undo"(%l, %n, %x) : (!grad.log<f32, 1>, index, !field.array<f32, [-1]>) -> ()
  "grad.free"(%s) : (!grad.stack<f32>) -> ()
  "grad.close"(%l) : (!grad.log<f32, 1>) -> ()
  "field.print"(%v) {format = "{}"} : (f32) -> ()
  "field.assert"(%c) {message = ""} : (i1) -> ()
  return
}

// Equal reads are one, with reads between them, and two with a write between them.
// CSE-LABEL: func.func @twice
// CSE: %[[V:.*]] = {{.*}}field.load
// CSE: %[[P:.*]] = {{.*}}grad.pop
// CSE-NOT: grad.pop
// CSE-NOT: field.load
// CSE: field.store
// CSE: %[[W:.*]] = {{.*}}field.load
// CSE: return %[[V]], %[[P]], %[[V]], %[[P]], %[[W]]
func.func @twice(%n: index, %x: !field.array<f32, [-1]>, %s: !grad.stack<f32>) -> (f32, f32, f32, f32, f32) {
  %v = "field.load"(%x, %n) : (!field.array<f32, [-1]>, index) -> f32
  %p = "grad.pop"(%s, %n) : (!grad.stack<f32>, index) -> f32
  %v2 = "field.load"(%x, %n) : (!field.array<f32, [-1]>, index) -> f32
  %p2 = "grad.pop"(%s, %n) : (!grad.stack<f32>, index) -> f32
  "field.store"(%p2, %x, %n) : (f32, !field.array<f32, [-1]>, index) -> ()
  %w = "field.load"(%x, %n) : (!field.array<f32, [-1]>, index) -> f32
  return %v, %p, %v2, %p2, %w : f32, f32, f32, f32, f32
}

// A function with derivatives does what is in its region.
// CHECK-LABEL: func.func @functions
// CHECK: grad.dual
// CHECK: field.store
// CHECK-NOT: grad.dual
// CHECK: return
func.func @functions(%x: !field.array<f32, []>, %v: f32) {
  %y:2 = "grad.dual"(%v, %v) ({
  ^bb0(%a: f32):
    "field.store"(%a, %x) : (f32, !field.array<f32, []>) -> ()
    "grad.yield"(%a) : (f32) -> ()
  }) {directions = 1} : (f32, f32) -> (f32, f32)
  %z:2 = "grad.dual"(%v, %v) ({
  ^bb0(%a: f32):
    %b = arith.mulf %a, %a : f32
    "grad.yield"(%b) : (f32) -> ()
  }) {directions = 1} : (f32, f32) -> (f32, f32)
  return
}
