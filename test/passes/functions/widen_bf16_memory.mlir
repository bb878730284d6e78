// RUN: mlirad-opt %s --widen-bf16-memory | filecheck %s
// RUN: mlirad-run %s 0.3 --check | filecheck %s --check-prefix=DERIVATIVES
// DERIVATIVES: all {{.*}} derivatives agree

// What is written is exact in more bits, and what is read is what was written.
// CHECK-LABEL: func.func @memory
// CHECK: %[[M:.*]] = memref.alloc() : memref<4xf32>
// CHECK: %[[V:.*]] = memref.subview %[[M]]{{.*}} : memref<4xf32> to memref<2xf32, strided<[2]>>
// CHECK: %[[W:.*]] = arith.extf %{{.*}} : bf16 to f32
// CHECK: memref.store %[[W]], %[[V]]
// CHECK: %[[R:.*]] = memref.load %[[M]]
// CHECK: arith.truncf %[[R]] : f32 to bf16
func.func @memory(%x: f32) -> f32 {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %m = memref.alloc() : memref<4xbf16>
  %v = memref.subview %m[0] [2] [2] : memref<4xbf16> to memref<2xbf16, strided<[2]>>
  %b = arith.truncf %x : f32 to bf16
  %p = arith.mulf %b, %b : bf16
  memref.store %p, %v[%c1] : memref<2xbf16, strided<[2]>>
  %r = memref.load %m[%c2] : memref<4xbf16>
  %f = arith.extf %r : bf16 to f32
  memref.dealloc %m : memref<4xbf16>
  return %f : f32
}
