// RUN: mlirad-opt %s --mark-rounding | filecheck %s
// RUN: mlirad-opt %s --mark-rounding --mark-rounding | filecheck %s

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "y", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
  "snode.place"() {sym_name = "total", element = f32, component_shape = []} : () -> ()
}) {sym_name = "S0"} : () -> ()

// A product with what a loop carries is fused into the sum that alone uses it.
// CHECK-LABEL: func.func @recurrence
// CHECK: arith.mulf %{{.*}} {field.exact}
// CHECK-NEXT: arith.mulf %{{.*}} {field.fused}
// CHECK-NEXT: arith.addf %{{.*}} {field.exact}
func.func @recurrence(%a: f32, %b: f32, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%v = %a) -> f32 {
    %p = arith.mulf %a, %b : f32
    %q = arith.mulf %v, %b : f32
    %w = arith.addf %q, %p : f32
    scf.yield %w : f32
  }
  return %s : f32
}

// Other products are not, nor into what a comparison reads.
// CHECK-LABEL: func.func @products
// CHECK-NEXT: arith.mulf %{{.*}} {field.exact}
// CHECK-NEXT: arith.addf %{{.*}} {field.exact}
// CHECK-NEXT: arith.mulf %{{.*}} {field.exact}
// CHECK-NEXT: arith.subf %{{.*}} {field.exact}
// CHECK-NEXT: arith.cmpf oge, %{{.*}} {field.decision}
// CHECK-NEXT: arith.mulf %{{.*}} {field.exact}
// CHECK-NEXT: arith.addf
func.func @products(%a: f32, %b: f32, %c: f32) -> (f32, i1, f32, f32) {
  %p = arith.mulf %a, %b : f32
  %s = arith.addf %p, %c : f32
  %q = arith.mulf %a, %c : f32
  %d = arith.subf %q, %b : f32
  %t = arith.cmpf oge, %d, %c : f32
  %r = arith.mulf %b, %c : f32
  %u = arith.addf %r, %c : f32
  return %s, %t, %u, %r : f32, i1, f32, f32
}

// A sum over a loop goes in any order, and its terms are estimates; in the order of lanes, where a decision is made of it; as
// it stands where it is short.
// CHECK-LABEL: func.func @sums
// CHECK: arith.divf %{{.*}} {field.loose}
// CHECK-NEXT: arith.addf %{{.*}} {field.loose}
// CHECK: arith.divf %{{.*}} {field.exact}
// CHECK-NEXT: arith.addf %{{.*}} {field.exact, field.lanes}
// CHECK: arith.fptosi %{{.*}} {field.decision}
// CHECK: arith.divf %{{.*}} {field.exact}
// CHECK-NEXT: arith.addf %{{.*}} {field.exact}
func.func @sums(%a: f32, %b: f32, %n: index) -> (f32, i32, f32) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%v = %zero) -> f32 {
    %q = arith.divf %a, %b : f32
    %w = arith.addf %v, %q : f32
    scf.yield %w : f32
  }
  %t = scf.for %i = %c0 to %n step %c1 iter_args(%v = %zero) -> f32 {
    %q = arith.divf %b, %a : f32
    %w = arith.addf %v, %q : f32
    scf.yield %w : f32
  }
  %k = arith.fptosi %t : f32 to i32
  %u = scf.for %i = %c0 to %c3 step %c1 iter_args(%v = %zero) -> f32 {
    %q = arith.divf %b, %a : f32
    %w = arith.addf %v, %q : f32
    scf.yield %w : f32
  }
  return %s, %k, %u : f32, i32, f32
}

// A partial sum that is used otherwise is exact. A loop around another passes its sum through.
// CHECK-LABEL: func.func @partial_sums
// CHECK: arith.addf %{{.*}} {field.exact}
// CHECK: arith.addf %{{.*}} {field.loose}
func.func @partial_sums(%n: index) -> f32 {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%v = %zero) -> f32 {
    %q = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
    %w = arith.addf %v, %q : f32
    "field.store"(%w, %x, %i) : (f32, !field.array<f32, [16]>, index) -> ()
    scf.yield %w : f32
  }
  %t = scf.for %i = %c0 to %n step %c1 iter_args(%v = %s) -> f32 {
    %inner = scf.for %j = %c0 to %n step %c1 iter_args(%u = %v) -> f32 {
      %q = "field.load"(%x, %j) : (!field.array<f32, [16]>, index) -> f32
      %w = arith.addf %u, %q : f32
      scf.yield %w : f32
    }
    scf.yield %inner : f32
  }
  return %t : f32
}

// What a decision loads from memory that the function writes is exact where it is written.
// CHECK-LABEL: func.func @through_memory
// CHECK: arith.divf %{{.*}} {field.exact}
// CHECK-NEXT: field.atomic add %{{.*}} {field.exact}
// CHECK: arith.divf %{{.*}} {field.loose}
// CHECK-NEXT: field.atomic add %{{.*}} {field.loose}
func.func @through_memory(%n: index, %b: f32) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [16]>
  %total = "field.get"() {field = @total} : () -> !field.array<f32, []>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %v = "field.load"(%y, %i) : (!field.array<f32, [16]>, index) -> f32
    %q = arith.divf %v, %b : f32
    %0 = "field.atomic"(%q, %x, %c0) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    %r = arith.divf %b, %v : f32
    %1 = "field.atomic"(%r, %total) {kind = "add"} : (f32, !field.array<f32, []>) -> f32
    scf.reduce
  }
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
    %t = arith.cmpf oge, %v, %b : f32
    scf.if %t {
      "field.store"(%b, %y, %i) : (f32, !field.array<f32, [16]>, index) -> ()
    }
    scf.reduce
  }
  return
}

// What a settled function leaves in memory is not made again to decide the same: a sum may be taken in any order, and a decision be
// made of it there; what a decision is made of at once is exact. A sum of two short loops is as long as both.
// CHECK-LABEL: func.func @settled
// CHECK: arith.addf %{{.*}} {field.loose}
// CHECK: arith.cmpf ogt, %{{.*}} {field.decision}
// CHECK: arith.mulf %{{.*}} {field.exact}
// CHECK: arith.cmpf ogt, %{{.*}} {field.decision}
func.func @settled(%x: !field.array<f32, [16]>, %y: !field.array<f32, [16]>) attributes {field.settled} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %s = scf.for %i = %c0 to %c3 step %c1 iter_args(%t = %zero) -> f32 {
    %u = scf.for %j = %c0 to %c3 step %c1 iter_args(%v = %t) -> f32 {
      %k = arith.addi %i, %j : index
      %a = "field.load"(%x, %k) : (!field.array<f32, [16]>, index) -> f32
      %w = arith.addf %v, %a : f32
      scf.yield %w : f32
    }
    scf.yield %u : f32
  }
  "field.store"(%s, %y, %c0) : (f32, !field.array<f32, [16]>, index) -> ()
  %b = "field.load"(%y, %c0) : (!field.array<f32, [16]>, index) -> f32
  %c = arith.cmpf ogt, %b, %zero : f32
  %d = arith.select %c, %b, %zero : f32
  "field.store"(%d, %y, %c1) : (f32, !field.array<f32, [16]>, index) -> ()
  %p = arith.mulf %b, %b : f32
  %e = arith.cmpf ogt, %p, %b : f32
  %f = arith.select %e, %b, %zero : f32
  "field.store"(%f, %y, %c3) : (f32, !field.array<f32, [16]>, index) -> ()
  return
}
