// RUN: mlirad-opt --print-irdl | filecheck %s
// RUN: mlirad-opt --print-irdl | mlirad-opt - | filecheck %s

// CHECK: irdl.dialect @field
// CHECK: irdl.operation @load
// CHECK: irdl.dialect @grad
// CHECK: irdl.dialect @snode
// CHECK: irdl.dialect @te
