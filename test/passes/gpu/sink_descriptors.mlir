// RUN: mlirad-opt %s --sink-descriptors | filecheck %s
// RUN: mlirad-opt %s --sink-descriptors --sink-descriptors | filecheck %s

// CHECK-LABEL: func.func @descriptor
// CHECK: gpu.launch
// CHECK: %[[EMPTY:.*]] = llvm.mlir.poison
// CHECK: %[[FULL:.*]] = llvm.insertvalue %arg0, %[[EMPTY]][0]
// CHECK: llvm.extractvalue %[[FULL]][0]
func.func @descriptor(%p: !llvm.ptr) {
  %c1 = arith.constant 1 : index
  %0 = llvm.mlir.poison : !llvm.struct<(ptr)>
  %1 = llvm.insertvalue %p, %0[0] : !llvm.struct<(ptr)>
  gpu.launch blocks(%a, %b, %c) in (%d = %c1, %e = %c1, %f = %c1)
             threads(%g, %h, %i) in (%j = %c1, %k = %c1, %l = %c1) {
    %2 = llvm.extractvalue %1[0] : !llvm.struct<(ptr)>
    gpu.terminator
  }
  return
}

// CHECK-LABEL: func.func @computed_on_the_host
// CHECK: %[[V:.*]] = math.sin %arg0
// CHECK-NEXT: gpu.launch
// CHECK-NOT: math.sin
// CHECK: gpu.printf "%f", %[[V]]
func.func @computed_on_the_host(%x: f64) {
  %c1 = arith.constant 1 : index
  %v = math.sin %x : f64
  gpu.launch blocks(%a, %b, %c) in (%d = %c1, %e = %c1, %f = %c1)
             threads(%g, %h, %i) in (%j = %c1, %k = %c1, %l = %c1) {
    gpu.printf "%f", %v : f64
    gpu.terminator
  }
  return
}
