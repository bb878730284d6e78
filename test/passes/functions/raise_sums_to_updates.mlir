// RUN: mlirad-opt %s --raise-sums-to-updates | filecheck %s
// RUN: mlirad-opt %s --raise-sums-to-updates --raise-sums-to-updates | filecheck %s

// CHECK-LABEL: func.func @product
// CHECK: %[[P:.*]] = arith.mulf
// CHECK-NOT: arith.addf
// CHECK: field.atomic{{.*}}%[[P]]
// CHECK-NOT: field.store
func.func @product(%a: !field.array<f64, [4]>, %c: !field.array<f64, [4]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.parallel (%i) = (%c0) to (%c4) step (%c1) {
    scf.for %k = %c0 to %c4 step %c1 {
      %x = "field.load"(%a, %k) : (!field.array<f64, [4]>, index) -> f64
      %o = "field.load"(%c, %i) : (!field.array<f64, [4]>, index) -> f64
      %p = arith.mulf %x, %x : f64
      %s = arith.addf %o, %p : f64
      "field.store"(%s, %c, %i) : (f64, !field.array<f64, [4]>, index) -> ()
    }
    scf.reduce
  }
  return
}

// What is subtracted is added with the other sign.
// CHECK-LABEL: func.func @difference
// CHECK: %[[N:.*]] = arith.negf
// CHECK: field.atomic{{.*}}%[[N]]
func.func @difference(%a: !field.array<f64, [4]>, %c: !field.array<f64, [4]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.parallel (%i) = (%c0) to (%c4) step (%c1) {
    %x = "field.load"(%a, %i) : (!field.array<f64, [4]>, index) -> f64
    %o = "field.load"(%c, %i) : (!field.array<f64, [4]>, index) -> f64
    %s = arith.subf %o, %x : f64
    "field.store"(%s, %c, %i) : (f64, !field.array<f64, [4]>, index) -> ()
    scf.reduce
  }
  return
}

// Another element, one that is written between, one that is used otherwise: no updates.
// CHECK-LABEL: func.func @none
// CHECK-NOT: field.atomic
func.func @none(%a: !field.array<f64, [4]>, %c: !field.array<f64, [8]>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.parallel (%i) = (%c0) to (%c4) step (%c1) {
    %x = "field.load"(%a, %i) : (!field.array<f64, [4]>, index) -> f64
    %j = arith.addi %i, %c4 : index
    %o = "field.load"(%c, %i) : (!field.array<f64, [8]>, index) -> f64
    %s = arith.addf %o, %x : f64
    "field.store"(%s, %c, %j) : (f64, !field.array<f64, [8]>, index) -> ()
    %p = "field.load"(%c, %i) : (!field.array<f64, [8]>, index) -> f64
    "field.store"(%x, %c, %i) : (f64, !field.array<f64, [8]>, index) -> ()
    %q = arith.addf %p, %x : f64
    "field.store"(%q, %c, %i) : (f64, !field.array<f64, [8]>, index) -> ()
    %r = "field.load"(%a, %i) : (!field.array<f64, [4]>, index) -> f64
    %t = arith.addf %r, %r : f64
    "field.store"(%t, %a, %i) : (f64, !field.array<f64, [4]>, index) -> ()
    scf.reduce
  }
  return
}
