// RUN: mlirad-opt %s --lower-grad-to-memref | filecheck %s
// RUN: mlirad-opt %s --lower-grad-to-memref --lower-grad-to-memref | filecheck %s

// CHECK-LABEL: func.func @unknown_count_on_the_heap
// CHECK: %[[B:.*]] = memref.alloc(%arg0) : memref<?xf32>
// CHECK-NEXT: memref.store %arg1, %[[B]][%arg0]
// CHECK: %[[V:.*]] = memref.load %[[B]][%arg0]
// CHECK-NEXT: memref.dealloc %[[B]]
// CHECK-NEXT: return %[[V]]
func.func @unknown_count_on_the_heap(%n: index, %v: f32) -> f32 {
  %s = "grad.alloc"(%n) : (index) -> !grad.stack<f32>
  "grad.push"(%v, %s, %n) : (f32, !grad.stack<f32>, index) -> ()
  %w = "grad.pop"(%s, %n) : (!grad.stack<f32>, index) -> f32
  "grad.free"(%s) : (!grad.stack<f32>) -> ()
  return %w : f32
}

// CHECK-LABEL: func.func @few_on_the_stack
// CHECK: memref.alloca() : memref<8xf32>
// CHECK-NOT: memref.dealloc
// CHECK: return
func.func @few_on_the_stack() {
  %n = arith.constant 8 : index
  %s = "grad.alloc"(%n) : (index) -> !grad.stack<f32>
  "grad.free"(%s) : (!grad.stack<f32>) -> ()
  return
}

// CHECK-LABEL: func.func @many_on_the_heap
// CHECK: memref.alloc(%{{.*}}) : memref<?xf32>
// CHECK-NEXT: memref.dealloc
func.func @many_on_the_heap() {
  %n = arith.constant 257 : index
  %s = "grad.alloc"(%n) : (index) -> !grad.stack<f32>
  "grad.free"(%s) : (!grad.stack<f32>) -> ()
  return
}
