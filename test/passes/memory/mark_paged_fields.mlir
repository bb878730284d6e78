// RUN: mlirad-opt %s --mark-paged-fields=least=4096 | filecheck %s
// RUN: mlirad-opt %s --mark-paged-fields=least=4096 --mark-paged-fields=least=4096 | filecheck %s
// RUN: mlirad-opt %s --mark-paged-fields=least=4097 | filecheck %s --check-prefix=MORE

// A sparse tree, the activity of its blocks, and the check bits of its field; not a dense one.
// CHECK: snode.place @x {field.paged}
// CHECK: snode.place @d :
// CHECK: snode.place @p {field.paged}
// CHECK: snode.place @bits {field.checks = @x, field.paged}
// MORE-NOT: field.paged
snode.root @S0 {
  snode.pointer [4096] activity(@p) {
    snode.place @x : i8
  }
}
snode.root @S1 {
  snode.dense [4096] {
    snode.place @d : f32
  }
}
snode.root @activity {
  snode.dense [4096] {
    snode.place @p : i8
  }
}
snode.root @checks {
  snode.dense [4096] {
    snode.place @bits {field.checks = @x} : i8
  }
}
