// RUN: mlirad-opt %s --remove-local-accesses | filecheck %s
// RUN: mlirad-opt %s --remove-local-accesses --remove-local-accesses | filecheck %s

// CHECK-LABEL: func.func @forwarded
// CHECK-NEXT: return %arg0 : f32
func.func @forwarded(%v: f32) -> f32 {
  %a = "field.alloca"() : () -> !field.array<f32, []>
  "field.store"(%v, %a) : (f32, !field.array<f32, []>) -> ()
  %x = "field.load"(%a) : (!field.array<f32, []>) -> f32
  return %x : f32
}

// The second store is to another element; the third one may be to the first.
// CHECK-LABEL: func.func @elements
// CHECK: %[[X:.*]] = {{.*}}field.load
// CHECK-NOT: field.load
// CHECK: return %arg0, %[[X]] : f32, f32
func.func @elements(%v: f32, %i: index) -> (f32, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = "field.alloca"() : () -> !field.array<f32, [2]>
  "field.store"(%v, %a, %c0) : (f32, !field.array<f32, [2]>, index) -> ()
  "field.store"(%v, %a, %c1) : (f32, !field.array<f32, [2]>, index) -> ()
  %x = "field.load"(%a, %c0) : (!field.array<f32, [2]>, index) -> f32
  "field.store"(%x, %a, %i) : (f32, !field.array<f32, [2]>, index) -> ()
  %y = "field.load"(%a, %c0) : (!field.array<f32, [2]>, index) -> f32
  return %x, %y : f32, f32
}

// A branch knows what is in front of it, and a loop that writes forgets it.
// CHECK-LABEL: func.func @regions
// CHECK: scf.if
// CHECK-NEXT: scf.yield %arg0 : f32
// CHECK: scf.for
// CHECK-NEXT: field.load
// CHECK: field.store
func.func @regions(%v: f32, %c: i1, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = "field.alloca"() : () -> !field.array<f32, []>
  "field.store"(%v, %a) : (f32, !field.array<f32, []>) -> ()
  %y = scf.if %c -> f32 {
    %x = "field.load"(%a) : (!field.array<f32, []>) -> f32
    scf.yield %x : f32
  } else {
    scf.yield %v : f32
  }
  scf.for %i = %c0 to %n step %c1 {
    %x = "field.load"(%a) : (!field.array<f32, []>) -> f32
    %z = arith.mulf %x, %x : f32
    "field.store"(%z, %a) : (f32, !field.array<f32, []>) -> ()
  }
  return %y : f32
}

// Other iterations of a parallel loop may have stored in between.
// CHECK-LABEL: func.func @parallel
// CHECK: field.alloca
// CHECK: scf.parallel
// CHECK: field.store
// CHECK: field.load
func.func @parallel(%v: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = "field.alloca"() : () -> !field.array<f32, []>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    "field.store"(%v, %a) : (f32, !field.array<f32, []>) -> ()
    %x = "field.load"(%a) : (!field.array<f32, []>) -> f32
    "field.print"(%x) {format = "{}"} : (f32) -> ()
  }
  return
}

// An array that nothing reads goes, with its stores.
// CHECK-LABEL: func.func @unread
// CHECK-NEXT: return
func.func @unread(%v: f32) {
  %a = "field.alloca"() : () -> !field.array<f32, []>
  "field.store"(%v, %a) : (f32, !field.array<f32, []>) -> ()
  %old = "field.atomic"(%v, %a) {kind = "add"} : (f32, !field.array<f32, []>) -> f32
  return
}

// An argument keeps its accesses: what passes through it passes through its gradient.
// CHECK-LABEL: func.func @argument
// CHECK: field.store
// CHECK: field.load
func.func @argument(%v: f32, %a: !field.array<f32, []>) -> f32 {
  "field.store"(%v, %a) : (f32, !field.array<f32, []>) -> ()
  %x = "field.load"(%a) : (!field.array<f32, []>) -> f32
  return %x : f32
}

// In a loop, between arrays, which its derivatives go through.
// CHECK-LABEL: func.func @between_arrays
// CHECK-NOT: field.alloca
// CHECK: return
func.func @between_arrays(%x: !field.array<f32, [8]>, %y: !field.array<f32, [8]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %a = "field.alloca"() : () -> !field.array<f32, []>
    %v = "field.load"(%x, %i) : (!field.array<f32, [8]>, index) -> f32
    %s = arith.mulf %v, %v : f32
    "field.store"(%s, %a) : (f32, !field.array<f32, []>) -> ()
    %t = "field.load"(%a) : (!field.array<f32, []>) -> f32
    %p = arith.mulf %t, %v : f32
    "field.store"(%p, %y, %i) : (f32, !field.array<f32, [8]>, index) -> ()
  }
  return
}
