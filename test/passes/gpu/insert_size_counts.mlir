// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --insert-size-counts | filecheck %s
// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --insert-size-counts --insert-size-counts | filecheck %s

// Arithmetic on arguments is the host's, also where the loop does it; a division that may trap is not.
// CHECK-LABEL: func.func @host(
// CHECK-SAME: %[[M:.*]]: i32, %[[D:.*]]: index)
// CHECK: %[[N:.*]] = arith.index_cast %[[M]]
// CHECK: %[[TRIPS:.*]] = arith.addi %[[N]], %[[N]]
// CHECK: scf.parallel
// CHECK: arith.divui %{{.*}}, %[[D]]
// CHECK: field.atomic
// CHECK: %[[KNOWN:.*]] = field.fetch
// CHECK: scf.parallel
// CHECK: grad.alloc %[[TRIPS]] :
// CHECK: grad.alloc %[[KNOWN]] :
func.func @host(%m: i32, %d: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    %n = arith.index_cast %m : i32 to index
    %trips = arith.addi %n, %n : index
    %stack = "grad.alloc"(%trips) : (index) -> !grad.stack<f32>
    %part = arith.divui %trips, %d : index
    %other = "grad.alloc"(%part) : (index) -> !grad.stack<f32>
    scf.reduce
  }
  return
}

// -----

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "n", element = i32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// A loop that only computes the size runs first; it neither multiplies nor writes.
// CHECK-LABEL: func.func @counted(
// CHECK: %[[CELL:.*]] = field.alloca : !field.array<i64, []>
// CHECK-NEXT: scf.parallel
// CHECK-NOT: mulf
// CHECK: field.load %{{.*}}[%{{.*}}] : i32
// CHECK-NOT: mulf
// CHECK: field.atomic max %{{.*}}, %[[CELL]][] {field.reduce = 0 : i64}
// CHECK: %[[MOST:.*]] = field.load %[[CELL]][]
// CHECK: %[[KNOWN:.*]] = field.fetch
// CHECK: scf.parallel
// CHECK: grad.alloc %[[KNOWN]] :
// CHECK: field.store
func.func @counted() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %many = "field.get"() {field = @n} : () -> !field.array<i32, [16]>
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
    %word = "field.load"(%many, %i) : (!field.array<i32, [16]>, index) -> i32
    %n = arith.index_cast %word : i32 to index
    %stack = "grad.alloc"(%n) : (index) -> !grad.stack<f32>
    %last = scf.for %k = %c0 to %n step %c1 iter_args(%s = %v) -> (f32) {
      "grad.push"(%s, %stack, %k) : (f32, !grad.stack<f32>, index) -> ()
      %t = arith.mulf %s, %v : f32
      scf.yield %t : f32
    }
    "field.store"(%last, %x, %i) : (f32, !field.array<f32, [16]>, index) -> ()
    scf.reduce
  }
  return
}

// -----

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// The trips of a loop within a loop, by what the outer one has kept: that is known, and is kept for the count.
// CHECK-LABEL: func.func @nested(
// CHECK: scf.parallel
// CHECK: %[[OUTER:.*]] = grad.alloc %[[N:.*]] : !grad.stack<f32>
// CHECK: grad.push %{{.*}}, %[[OUTER]][%{{.*}}]
// CHECK: grad.pop %[[OUTER]][%{{.*}}]
// CHECK: field.atomic
// CHECK: %[[KNOWN:.*]] = field.fetch
// CHECK: scf.parallel
// CHECK: grad.alloc %[[N]] :
// CHECK: grad.alloc %[[KNOWN]] :
func.func @nested(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
    %stack = "grad.alloc"(%n) : (index) -> !grad.stack<f32>
    %last = scf.for %k = %c0 to %n step %c1 iter_args(%s = %v) -> (f32) {
      "grad.push"(%s, %stack, %k) : (f32, !grad.stack<f32>, index) -> ()
      %t = arith.mulf %s, %s : f32
      scf.yield %t : f32
    }
    scf.for %k = %c0 to %n step %c1 {
      %s = "grad.pop"(%stack, %k) : (!grad.stack<f32>, index) -> f32
      %word = arith.fptosi %s : f32 to i32
      %m = arith.index_cast %word : i32 to index
      %inner = "grad.alloc"(%m) : (index) -> !grad.stack<f32>
    }
    scf.reduce
  }
  return
}

// -----

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// The length of a log is followed without what is in it.
// CHECK-LABEL: func.func @log(
// CHECK: %[[MOST:.*]] = memref.alloca() : memref<index>
// CHECK: %[[LENGTH:.*]] = memref.alloca() : memref<index>
// CHECK: scf.for
// CHECK-NEXT: memref.load %[[LENGTH]]
// CHECK: memref.store %{{.*}}, %[[LENGTH]]
// CHECK: arith.maxsi
// CHECK-NEXT: memref.store %{{.*}}, %[[MOST]]
// CHECK-NOT: field.store
// CHECK: field.atomic
// CHECK: %[[KNOWN:.*]] = field.fetch
// CHECK: grad.open %[[KNOWN]] : !grad.log<f32, 1 : i64>
func.func @log(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    %log = "grad.open"() : () -> !grad.log<f32, 1>
    %m = "grad.mark"(%log) : (!grad.log<f32, 1>) -> index
    scf.for %k = %c0 to %i step %c1 {
      %old = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
      "grad.record"(%old, %log, %i) : (f32, !grad.log<f32, 1>, index) -> ()
      %new = arith.mulf %old, %old : f32
      "field.store"(%new, %x, %i) : (f32, !field.array<f32, [16]>, index) -> ()
    }
    "grad.undo"(%log, %m, %x) : (!grad.log<f32, 1>, index, !field.array<f32, [16]>) -> ()
    "grad.close"(%log) : (!grad.log<f32, 1>) -> ()
    scf.reduce
  }
  return
}

// -----

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// A range that is left where the loop's own writes say so counts to its end: nothing is read or written.
// CHECK-LABEL: func.func @left_early(
// CHECK: scf.while
// CHECK-NEXT: %[[GOES_ON:.*]] = arith.cmpi slt
// CHECK-NOT: arith.andi
// CHECK: scf.condition(%[[GOES_ON]])
// CHECK-NOT: field.load %{{.*}}[%{{.*}}]
// CHECK-NOT: field.store
// CHECK: field.atomic
// CHECK: %[[KNOWN:.*]] = field.fetch
// CHECK: scf.condition
// CHECK: grad.alloc %[[KNOWN]] :
func.func @left_early(%n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %true = arith.constant true
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    %trips:2 = scf.while (%k = %c0, %go = %true) : (index, i1) -> (index, i1) {
      %below = arith.cmpi slt, %k, %n : index
      %both = arith.andi %below, %go : i1
      scf.condition(%both) %k, %go : index, i1
    } do {
    ^bb0(%k: index, %go: i1):
      %old = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
      %new = arith.mulf %old, %old : f32
      "field.store"(%new, %x, %i) : (f32, !field.array<f32, [16]>, index) -> ()
      %stays = arith.cmpf ogt, %new, %v : f32
      %next = arith.addi %k, %c1 : index
      scf.yield %next, %stays : index, i1
    }
    %stack = "grad.alloc"(%trips#0) : (index) -> !grad.stack<f32>
    scf.reduce
  }
  return
}

// -----

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "n", element = i32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// What the size depends on is written, and given back.
// CHECK-LABEL: func.func @written(
// CHECK: %[[COPY:.*]] = memref.alloc() : memref<16xi32>
// CHECK: scf.parallel
// CHECK: memref.store %{{.*}}, %[[COPY]]
// CHECK: scf.parallel
// CHECK: field.store
// CHECK: field.atomic
// CHECK: scf.parallel
// CHECK: memref.load %[[COPY]]
// CHECK-NEXT: field.store
// CHECK: memref.dealloc %[[COPY]]
// CHECK: field.fetch
func.func @written(%v: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %many = "field.get"() {field = @n} : () -> !field.array<i32, [16]>
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    "field.store"(%v, %many, %i) : (i32, !field.array<i32, [16]>, index) -> ()
    %word = "field.load"(%many, %i) : (!field.array<i32, [16]>, index) -> i32
    %n = arith.index_cast %word : i32 to index
    %stack = "grad.alloc"(%n) : (index) -> !grad.stack<f32>
    scf.reduce
  }
  return
}

// -----

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "n", element = i32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// What is undone in front is undone in the copy, with a log of its own; nothing is given back from copies.
// CHECK-LABEL: func.func @undone(
// CHECK-NOT: memref.alloc()
// CHECK: scf.parallel
// CHECK: %[[OWN:.*]] = grad.open %[[N:.*]] : !grad.log<i32, 1 : i64>
// CHECK: %[[MARK:.*]] = grad.mark %[[OWN]]
// CHECK: grad.record %{{.*}}, %[[OWN]][%{{.*}}]
// CHECK: field.store
// CHECK: grad.undo %[[OWN]], %[[MARK]], %{{.*}}
// CHECK: field.load
// CHECK: field.atomic
// CHECK: %[[KNOWN:.*]] = field.fetch
// CHECK: scf.parallel
// CHECK: grad.open %[[N]] :
// CHECK: grad.alloc %[[KNOWN]] :
func.func @undone(%v: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %many = "field.get"() {field = @n} : () -> !field.array<i32, [16]>
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    %log = "grad.open"(%c16) : (index) -> !grad.log<i32, 1>
    %mark = "grad.mark"(%log) : (!grad.log<i32, 1>) -> index
    %old = "field.load"(%many, %i) : (!field.array<i32, [16]>, index) -> i32
    "grad.record"(%old, %log, %i) : (i32, !grad.log<i32, 1>, index) -> ()
    "field.store"(%v, %many, %i) : (i32, !field.array<i32, [16]>, index) -> ()
    "grad.undo"(%log, %mark, %many) : (!grad.log<i32, 1>, index, !field.array<i32, [16]>) -> ()
    %word = "field.load"(%many, %i) : (!field.array<i32, [16]>, index) -> i32
    %n = arith.index_cast %word : i32 to index
    %stack = "grad.alloc"(%n) : (index) -> !grad.stack<f32>
    scf.reduce
  }
  return
}

// -----

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "n", element = i32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// A log is as long as first runs make it: what is done again is left out, and memory is given back from a copy.
// CHECK-LABEL: func.func @again(
// CHECK: %[[COPY:.*]] = memref.alloc() : memref<16xi32>
// CHECK: scf.parallel
// CHECK: scf.parallel
// CHECK-NOT: grad.
// CHECK: scf.while
// CHECK: field.store
// CHECK-NOT: scf.for
// CHECK: memref.load %[[COPY]]
// CHECK: %[[KNOWN:.*]] = field.fetch
// CHECK: grad.open %[[KNOWN]] :
func.func @again(%v: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %many = "field.get"() {field = @n} : () -> !field.array<i32, [16]>
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    %log = "grad.open"() : () -> !grad.log<i32, 1>
    %mark = "grad.mark"(%log) : (!grad.log<i32, 1>) -> index
    %trips = scf.while (%k = %c0) : (index) -> (index) {
      %left = "field.load"(%many, %i) : (!field.array<i32, [16]>, index) -> i32
      %goes_on = arith.cmpi sgt, %left, %v : i32
      scf.condition(%goes_on) %k : index
    } do {
    ^bb0(%k: index):
      %old = "field.load"(%many, %i) : (!field.array<i32, [16]>, index) -> i32
      %new = arith.subi %old, %v : i32
      "grad.record"(%old, %log, %i) : (i32, !grad.log<i32, 1>, index) -> ()
      "field.store"(%new, %many, %i) : (i32, !field.array<i32, [16]>, index) -> ()
      %next = arith.addi %k, %c1 : index
      scf.yield %next : index
    }
    "grad.undo"(%log, %mark, %many) {grad.again} : (!grad.log<i32, 1>, index, !field.array<i32, [16]>) -> ()
    scf.for %k = %c0 to %trips step %c1 {
      %old = "field.load"(%many, %i) : (!field.array<i32, [16]>, index) -> i32
      %new = arith.subi %old, %v : i32
      "grad.record"(%old, %log, %i) {grad.again} : (i32, !grad.log<i32, 1>, index) -> ()
      "field.store"(%new, %many, %i) {grad.again} : (i32, !field.array<i32, [16]>, index) -> ()
    }
    scf.reduce
  }
  return
}

// -----

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "n", element = i32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// A loop that is reversed is left out: the log has what it would undo.
// CHECK-LABEL: func.func @left_out(
// CHECK: scf.parallel
// CHECK: scf.for
// CHECK: grad.record
// CHECK-NOT: scf.for
// CHECK: grad.undo %{{.*}}, %{{.*}}, %{{.*}}
// CHECK: field.load
// CHECK: field.atomic
// CHECK: field.fetch
// CHECK: grad.undo %{{.*}}, %{{.*}}, %{{.*}} {grad.undone}
func.func @left_out(%v: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %many = "field.get"() {field = @n} : () -> !field.array<i32, [16]>
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    %log = "grad.open"(%c16) : (index) -> !grad.log<i32, 1>
    %mark = "grad.mark"(%log) : (!grad.log<i32, 1>) -> index
    scf.for %k = %c0 to %c2 step %c1 {
      %old = "field.load"(%many, %i) : (!field.array<i32, [16]>, index) -> i32
      "grad.record"(%old, %log, %i) : (i32, !grad.log<i32, 1>, index) -> ()
      "field.store"(%v, %many, %i) : (i32, !field.array<i32, [16]>, index) -> ()
    }
    scf.for %k = %c0 to %c2 step %c1 {
      %last = arith.subi %c1, %k : index
      "grad.undo"(%log, %last, %many) {grad.again} : (!grad.log<i32, 1>, index, !field.array<i32, [16]>) -> ()
    } {grad.reversed}
    "grad.undo"(%log, %mark, %many) {grad.undone} : (!grad.log<i32, 1>, index, !field.array<i32, [16]>) -> ()
    %word = "field.load"(%many, %i) : (!field.array<i32, [16]>, index) -> i32
    %n = arith.index_cast %word : i32 to index
    %stack = "grad.alloc"(%n) : (index) -> !grad.stack<f32>
    scf.reduce
  }
  return
}

// -----

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "n", element = i32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// An update is made in the copy, too.
// CHECK-LABEL: func.func @updated(
// CHECK: memref.alloc() : memref<16xi32>
// CHECK: field.atomic add %{{.*}}, %{{.*}}[%{{.*}}]
// CHECK: memref.dealloc
// CHECK: field.fetch
func.func @updated(%v: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %many = "field.get"() {field = @n} : () -> !field.array<i32, [16]>
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    %before = "field.atomic"(%v, %many, %i) {kind = "add"} : (i32, !field.array<i32, [16]>, index) -> i32
    %word = "field.load"(%many, %i) : (!field.array<i32, [16]>, index) -> i32
    %n = arith.index_cast %word : i32 to index
    %stack = "grad.alloc"(%n) : (index) -> !grad.stack<f32>
    scf.reduce
  }
  return
}

// -----

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "n", element = i32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// How long a log is depends on what has been undone from it.
func.func @by_itself() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %many = "field.get"() {field = @n} : () -> !field.array<i32, [16]>
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    // expected-error-re @+1 {{depends on field 'n', which the kernel overwrites, at line {{[0-9]+}}}}
    %log = "grad.open"() : () -> !grad.log<i32, 1>
    "grad.undo"(%log, %c0, %many) : (!grad.log<i32, 1>, index, !field.array<i32, [16]>) -> ()
    %word = "field.load"(%many, %i) : (!field.array<i32, [16]>, index) -> i32
    %n = arith.index_cast %word : i32 to index
    scf.for %k = %c0 to %n step %c1 {
      "grad.record"(%word, %log, %k) : (i32, !grad.log<i32, 1>, index) -> ()
    }
    scf.reduce
  }
  return
}

// -----

// A log that nobody uses needs no memory.
// CHECK-LABEL: func.func @unused(
// CHECK-NOT: grad.open
// CHECK: return
func.func @unused() {
  %log = "grad.open"() : () -> !grad.log<f32, 1>
  return
}
