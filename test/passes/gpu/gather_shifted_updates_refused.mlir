// RUN: mlirad-opt %s --gather-shifted-updates --canonicalize --cse | filecheck %s

// What is left as it is: one loop, with all its updates.

// CHECK-LABEL: func.func @own_element
// CHECK-COUNT-1: scf.parallel
// CHECK-NOT: scf.if
// CHECK: return
func.func @own_element(%x: !field.array<f32, [16]>, %g: !field.array<f32, [16]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c15 = arith.constant 15 : index
  scf.parallel (%i) = (%c0) to (%c15) step (%c1) {
    %j = arith.addi %i, %c1 : index
    %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
    %b = "field.atomic"(%v, %g, %j) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
  }
  return
}

// CHECK-LABEL: func.func @read_as_well
// CHECK-COUNT-1: scf.parallel
// CHECK-COUNT-2: field.atomic
// CHECK: return
func.func @read_as_well(%g: !field.array<f32, [16]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c15 = arith.constant 15 : index
  scf.parallel (%i) = (%c0) to (%c15) step (%c1) {
    %j = arith.addi %i, %c1 : index
    %v = "field.load"(%g, %i) : (!field.array<f32, [16]>, index) -> f32
    %a = "field.atomic"(%v, %g, %i) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    %b = "field.atomic"(%v, %g, %j) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
  }
  return
}

// CHECK-LABEL: func.func @multiplied_as_well
// CHECK-COUNT-1: scf.parallel
// CHECK-COUNT-3: field.atomic
// CHECK: return
func.func @multiplied_as_well(%g: !field.array<f32, [16]>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c15 = arith.constant 15 : index
  scf.parallel (%i) = (%c0) to (%c15) step (%c1) {
    %j = arith.addi %i, %c1 : index
    %a = "field.atomic"(%v, %g, %i) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    %b = "field.atomic"(%v, %g, %j) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    %c = "field.atomic"(%v, %g, %j) {kind = "mul"} : (f32, !field.array<f32, [16]>, index) -> f32
  }
  return
}

// CHECK-LABEL: func.func @used
// CHECK-COUNT-1: scf.parallel
// CHECK-COUNT-2: field.atomic
// CHECK: return
func.func @used(%g: !field.array<f32, [16]>, %x: !field.array<f32, [16]>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c15 = arith.constant 15 : index
  scf.parallel (%i) = (%c0) to (%c15) step (%c1) {
    %j = arith.addi %i, %c1 : index
    %a = "field.atomic"(%v, %g, %i) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    %b = "field.atomic"(%v, %g, %j) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    "field.store"(%b, %x, %i) : (f32, !field.array<f32, [16]>, index) -> ()
  }
  return
}

// What the updates are computed by was written in the iteration.
// CHECK-LABEL: func.func @written_before
// CHECK-COUNT-1: scf.parallel
// CHECK-COUNT-2: field.atomic
// CHECK: return
func.func @written_before(%g: !field.array<f32, [16]>, %x: !field.array<f32, [16]>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c15 = arith.constant 15 : index
  scf.parallel (%i) = (%c0) to (%c15) step (%c1) {
    %j = arith.addi %i, %c1 : index
    "field.store"(%v, %x, %i) : (f32, !field.array<f32, [16]>, index) -> ()
    %w = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
    %a = "field.atomic"(%w, %g, %i) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    %b = "field.atomic"(%w, %g, %j) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
  }
  return
}

// What the updates are computed by may be written by another iteration.
// CHECK-LABEL: func.func @written_elsewhere
// CHECK-COUNT-1: scf.parallel
// CHECK-COUNT-2: field.atomic
// CHECK: return
func.func @written_elsewhere(%g: !field.array<f32, [16]>, %x: !field.array<f32, [16]>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c15 = arith.constant 15 : index
  scf.parallel (%i) = (%c0) to (%c15) step (%c1) {
    %j = arith.addi %i, %c1 : index
    %w = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
    "field.store"(%v, %x, %j) : (f32, !field.array<f32, [16]>, index) -> ()
    %a = "field.atomic"(%w, %g, %i) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    %b = "field.atomic"(%w, %g, %j) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
  }
  return
}

// What the updates are computed by may be written by an earlier trip of the loop around them.
// CHECK-LABEL: func.func @written_a_trip_before
// CHECK-COUNT-1: scf.parallel
// CHECK-COUNT-2: field.atomic
// CHECK: return
func.func @written_a_trip_before(%g: !field.array<f32, [16]>, %x: !field.array<f32, [16]>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c15 = arith.constant 15 : index
  scf.parallel (%i) = (%c0) to (%c15) step (%c1) {
    %j = arith.addi %i, %c1 : index
    scf.for %k = %c0 to %c15 step %c1 {
      %w = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
      "field.store"(%v, %x, %i) : (f32, !field.array<f32, [16]>, index) -> ()
      %a = "field.atomic"(%w, %g, %i) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
      %b = "field.atomic"(%w, %g, %j) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    }
  }
  return
}

// CHECK-LABEL: func.func @carried
// CHECK-COUNT-1: scf.parallel
// CHECK-COUNT-1: field.atomic
// CHECK: return
func.func @carried(%g: !field.array<f32, [16]>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    %r = scf.for %k = %c0 to %c8 step %c1 iter_args(%s = %v) -> (f32) {
      %j = arith.addi %i, %k : index
      %a = "field.atomic"(%s, %g, %j) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
      %t = arith.mulf %s, %v : f32
      scf.yield %t : f32
    }
  }
  return
}

// CHECK-LABEL: func.func @index_from_memory
// CHECK-COUNT-1: scf.parallel
// CHECK-COUNT-2: field.atomic
// CHECK: return
func.func @index_from_memory(%g: !field.array<f32, [16]>, %n: !field.array<i32, [16]>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c15 = arith.constant 15 : index
  scf.parallel (%i) = (%c0) to (%c15) step (%c1) {
    %w = "field.load"(%n, %i) : (!field.array<i32, [16]>, index) -> i32
    %k = arith.index_cast %w : i32 to index
    %j = arith.addi %k, %c1 : index
    %a = "field.atomic"(%v, %g, %k) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    %b = "field.atomic"(%v, %g, %j) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
  }
  return
}

// Which j an i has is in memory: a thread of j would go through all i.
// CHECK-LABEL: func.func @neighbours
// CHECK-COUNT-1: scf.parallel
// CHECK-COUNT-1: field.atomic
// CHECK: return
func.func @neighbours(%g: !field.array<f32, [16]>, %n: !field.array<i32, [17]>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    %next = arith.addi %i, %c1 : index
    %a = "field.load"(%n, %i) : (!field.array<i32, [17]>, index) -> i32
    %b = "field.load"(%n, %next) : (!field.array<i32, [17]>, index) -> i32
    %first = arith.index_cast %a : i32 to index
    %last = arith.index_cast %b : i32 to index
    scf.for %j = %first to %last step %c1 {
      %c = "field.atomic"(%v, %g, %j) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    }
  }
  return
}

// Four threads for what 40 iterations do.
// CHECK-LABEL: func.func @few_threads
// CHECK-COUNT-1: scf.parallel
// CHECK-COUNT-1: field.atomic
// CHECK: return
func.func @few_threads(%g: !field.array<f32, [4]>, %x: !field.array<f32, [40]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c40 = arith.constant 40 : index
  scf.parallel (%i) = (%c0) to (%c40) step (%c1) {
    %v = "field.load"(%x, %i) : (!field.array<f32, [40]>, index) -> f32
    scf.for %j = %c0 to %c4 step %c1 {
      %c = "field.atomic"(%v, %g, %j) {kind = "add"} : (f32, !field.array<f32, [4]>, index) -> f32
    }
  }
  return
}

// A loop of its own for each element costs more than an atomic, and how much memory the iterations'
// values would take is not known.
// CHECK-LABEL: func.func @dear
// CHECK-COUNT-1: scf.parallel
// CHECK-COUNT-2: field.atomic
// CHECK: return
func.func @dear(%g: !field.array<f32, [16]>, %v: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c100 = arith.constant 100 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %j = arith.addi %i, %c1 : index
    %l = arith.addi %j, %c1 : index
    %w = scf.for %k = %c0 to %c100 step %c1 iter_args(%s = %v) -> (f32) {
      %t = math.sin %s : f32
      scf.yield %t : f32
    }
    %a = "field.atomic"(%w, %g, %l) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
    %b = "field.atomic"(%w, %g, %j) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
  }
  return
}

// A remainder that several iterations share.
// CHECK-LABEL: func.func @twice_around
// CHECK-COUNT-1: scf.parallel
// CHECK-COUNT-1: field.atomic
// CHECK: return
func.func @twice_around(%g: !field.array<f32, [16]>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    %j = arith.remsi %i, %c8 : index
    %a = "field.atomic"(%v, %g, %j) {kind = "add"} : (f32, !field.array<f32, [16]>, index) -> f32
  }
  return
}
