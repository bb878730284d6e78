// RUN: mlirad-opt %s --expand-derivatives | filecheck %s
// RUN: mlirad-opt %s --expand-derivatives --expand-derivatives | filecheck %s

// A derivative is a function beside its primal, the same for equal uses, and called.
// CHECK-LABEL: func.func @product(
// CHECK-LABEL: func.func private @product.jvp
// CHECK-SAME: (%[[x:.*]]: f64, %[[y:.*]]: f64, %[[dx:.*]]: f64) -> (f64, f64)
// CHECK: %[[p:.*]] = arith.mulf %[[x]], %[[y]]
// CHECK: %[[t:.*]] = arith.mulf %[[dx]], %[[y]]
// CHECK: return %[[p]], %[[t]]
// CHECK-LABEL: func.func private @product.vjp_1
// CHECK-SAME: (%{{.*}}: f64, %[[y:.*]]: f64, %[[dp:.*]]: f64) -> f64
// CHECK: arith.mulf %[[dp]], %[[y]]
// CHECK-NOT: arith.mulf
// CHECK-LABEL: func.func private @product.vjp
// CHECK-SAME: (%[[x:.*]]: f64, %[[y:.*]]: f64, %[[dp:.*]]: f64) -> (f64, f64)
// CHECK: arith.mulf %[[dp]], %[[y]]
// CHECK: arith.mulf %[[dp]], %[[x]]
func.func @product(%x: f64, %y: f64) -> f64 {
  %p = arith.mulf %x, %y : f64
  return %p : f64
}
// CHECK-LABEL: func.func @caller
// CHECK: call @product.vjp(
// CHECK: call @product.vjp_1(
// CHECK: call @product.vjp(
// CHECK: call @product.jvp(
// CHECK-NOT: grad.
func.func @caller(%x: f64, %y: f64) -> f64 {
  %both = "grad.vjp"() {callee = @product, active = [0, 1]} : () -> ((f64, f64, f64) -> (f64, f64))
  %a, %b = func.call_indirect %both(%x, %y, %x) : (f64, f64, f64) -> (f64, f64)
  %first = "grad.vjp"() {callee = @product, active = [0]} : () -> ((f64, f64, f64) -> f64)
  %c = func.call_indirect %first(%a, %b, %x) : (f64, f64, f64) -> f64
  %again = "grad.vjp"() {callee = @product, active = [0, 1]} : () -> ((f64, f64, f64) -> (f64, f64))
  %d, %e = func.call_indirect %again(%c, %y, %x) : (f64, f64, f64) -> (f64, f64)
  %along = "grad.jvp"() {callee = @product, active = [0]} : () -> ((f64, f64, f64) -> (f64, f64))
  %f, %g = func.call_indirect %along(%d, %e, %x) : (f64, f64, f64) -> (f64, f64)
  return %g : f64
}

// A memref carries its adjoint in a buffer; the function is in upstream's dialects only. Loops stay parallel if they may.
// CHECK-LABEL: func.func private @squares.vjp
// CHECK-SAME: (%[[a:.*]]: memref<?xf64>, %[[da:.*]]: memref<?xf64>)
// CHECK-NOT: field.
// CHECK: scf.parallel
// CHECK: memref.load %[[da]]
// CHECK: memref.atomic_rmw addf %{{.*}}, %[[da]]
func.func private @squares(%a: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xf64>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %v = memref.load %a[%i] : memref<?xf64>
    %w = arith.mulf %v, %v : f64
    memref.store %w, %a[%i] : memref<?xf64>
    scf.reduce
  }
  return
}
// CHECK-LABEL: func.func @in_memory
// CHECK: call @squares.vjp
func.func @in_memory(%a: memref<?xf64>, %da: memref<?xf64>) {
  %d = "grad.vjp"() {callee = @squares, active = [0]} : () -> ((memref<?xf64>, memref<?xf64>) -> ())
  func.call_indirect %d(%a, %da) : (memref<?xf64>, memref<?xf64>) -> ()
  return
}

// What a function leaves in memory, and its derivative reads, it leaves there, and memory is as it was in the end.
// CHECK-LABEL: func.func private @through_memory.vjp
// CHECK-SAME: (%{{.*}}: f64, %[[a:.*]]: memref<f64>, %{{.*}}: f64)
// CHECK: %[[copy:.*]] = memref.alloca() : memref<f64>
// CHECK: memref.copy %[[a]], %[[copy]]
// CHECK: memref.store %{{.*}}, %[[a]][]
// CHECK: memref.copy %[[copy]], %[[a]]
// CHECK-NEXT: return
func.func private @through_memory(%x: f64, %a: memref<f64>) -> f64 {
  %y = math.sin %x : f64
  memref.store %y, %a[] : memref<f64>
  %c = func.call @read_twice(%a) : (memref<f64>) -> f64
  return %c : f64
}
func.func private @read_twice(%a: memref<f64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %one = arith.constant 1.0 : f64
  %r = scf.for %i = %c0 to %c2 step %c1 iter_args(%p = %one) -> f64 {
    %v = memref.load %a[] : memref<f64>
    %q = arith.mulf %p, %v : f64
    scf.yield %q : f64
  }
  return %r : f64
}
func.func @constant_memory(%x: f64, %a: memref<f64>, %dy: f64) -> f64 {
  %d = "grad.vjp"() {callee = @through_memory, active = [0]} : () -> ((f64, memref<f64>, f64) -> f64)
  %dx = func.call_indirect %d(%x, %a, %dy) : (f64, memref<f64>, f64) -> f64
  return %dx : f64
}

// Tensors become buffers, and buffers tensors.
// CHECK-LABEL: func.func private @scaled.vjp
// CHECK-SAME: (%{{.*}}: tensor<4xf32>, %{{.*}}: f32, %[[dy:.*]]: tensor<4xf32>) -> (tensor<4xf32>, f32)
// CHECK: bufferization.to_buffer %[[dy]]
// CHECK: bufferization.to_tensor
func.func private @scaled(%t: tensor<4xf32>, %s: f32) -> tensor<4xf32> {
  %e = tensor.splat %s : tensor<4xf32>
  %r = arith.mulf %t, %e : tensor<4xf32>
  return %r : tensor<4xf32>
}
func.func @on_tensors(%t: tensor<4xf32>, %s: f32) -> (tensor<4xf32>, f32) {
  %d = "grad.vjp"() {callee = @scaled, active = [0, 1]}
      : () -> ((tensor<4xf32>, f32, tensor<4xf32>) -> (tensor<4xf32>, f32))
  %dt, %ds = func.call_indirect %d(%t, %s, %t) : (tensor<4xf32>, f32, tensor<4xf32>) -> (tensor<4xf32>, f32)
  return %dt, %ds : tensor<4xf32>, f32
}

// The innermost is expanded first: the second derivative of x * x is 2.
// CHECK-LABEL: func.func private @square.vjp
// CHECK-LABEL: func.func private @slope
// CHECK: call @square.vjp
// CHECK-LABEL: func.func private @slope.jvp
// CHECK-LABEL: func.func @curvature
// CHECK: call @slope.jvp
func.func private @square(%x: f64) -> f64 {
  %y = arith.mulf %x, %x : f64
  return %y : f64
}
func.func private @slope(%x: f64) -> f64 {
  %one = arith.constant 1.0 : f64
  %d = "grad.vjp"() {callee = @square, active = [0]} : () -> ((f64, f64) -> f64)
  %dx = func.call_indirect %d(%x, %one) : (f64, f64) -> f64
  return %dx : f64
}
func.func @curvature(%x: f64) -> f64 {
  %one = arith.constant 1.0 : f64
  %d = "grad.jvp"() {callee = @slope, active = [0]} : () -> ((f64, f64) -> (f64, f64))
  %dx, %ddx = func.call_indirect %d(%x, %one) : (f64, f64) -> (f64, f64)
  return %ddx : f64
}

// A call of a function of numbers is differentiated by a call: of the function, and of its derivative.
// CHECK-LABEL: func.func private @scaled_sine(
// CHECK-LABEL: func.func private @scaled_sine.vjp
// CHECK-SAME: (%{{.*}}: i32, %{{.*}}: f64, %{{.*}}: f64) -> f64
// CHECK-LABEL: func.func private @iterated(
// CHECK-LABEL: func.func private @iterated.vjp
// CHECK-NOT: grad.custom
// CHECK: scf.for
// CHECK-NOT: grad.custom
// CHECK: func.call @scaled_sine(
// CHECK: scf.for
// CHECK: func.call @scaled_sine.vjp(
func.func private @scaled_sine(%k: i32, %x: f64) -> f64 {
  %s = math.sin %x : f64
  %f = arith.sitofp %k : i32 to f64
  %y = arith.mulf %s, %f : f64
  return %y : f64
}
func.func private @iterated(%x: f64, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %k = arith.constant 2 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%v = %x) -> f64 {
    %w = func.call @scaled_sine(%k, %v) : (i32, f64) -> f64
    scf.yield %w : f64
  }
  return %r : f64
}
func.func @of_calls(%x: f64, %n: index) -> f64 {
  %d = "grad.vjp"() {callee = @iterated, active = [0]} : () -> ((f64, index, f64) -> f64)
  %dx = func.call_indirect %d(%x, %n, %x) : (f64, index, f64) -> f64
  return %dx : f64
}

// So one that calls itself has a derivative that calls itself.
// CHECK-LABEL: func.func private @power.vjp
// CHECK: scf.if
// CHECK: func.call @power(
// CHECK: func.call @power.vjp(
func.func private @power(%x: f64, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f64
  %ends = arith.cmpi eq, %n, %c0 : index
  %r = scf.if %ends -> f64 {
    scf.yield %one : f64
  } else {
    %m = arith.subi %n, %c1 : index
    %p = func.call @power(%x, %m) : (f64, index) -> f64
    %q = arith.mulf %p, %x : f64
    scf.yield %q : f64
  }
  return %r : f64
}
func.func @recursion(%x: f64, %n: index) -> f64 {
  %d = "grad.vjp"() {callee = @power, active = [0]} : () -> ((f64, index, f64) -> f64)
  %dx = func.call_indirect %d(%x, %n, %x) : (f64, index, f64) -> f64
  return %dx : f64
}

// A function that has no derivative is inlined: here nothing that carries one is passed to it.
// CHECK-LABEL: func.func private @constant_bits.vjp
// CHECK-NOT: call
// CHECK: return
func.func private @bits(%x: f64) -> f64 {
  %one = arith.constant 1 : i64
  %i = arith.bitcast %x : f64 to i64
  %j = arith.addi %i, %one : i64
  %y = arith.bitcast %j : i64 to f64
  return %y : f64
}
func.func private @constant_bits(%x: f64, %c: f64) -> f64 {
  %b = func.call @bits(%c) : (f64) -> f64
  %y = arith.mulf %x, %b : f64
  return %y : f64
}
func.func @of_constant_bits(%x: f64, %c: f64) -> f64 {
  %d = "grad.vjp"() {callee = @constant_bits, active = [0]} : () -> ((f64, f64, f64) -> f64)
  %dx = func.call_indirect %d(%x, %c, %x) : (f64, f64, f64) -> f64
  return %dx : f64
}
