// RUN: mlirad-opt %s --expand-derivatives --split-input-file --verify-diagnostics

func.func private @declared(%x: f64) -> f64
func.func @no_body(%x: f64) -> f64 {
  // expected-error @+1 {{@declared is only declared: what has no body cannot be differentiated}}
  %d = "grad.vjp"() {callee = @declared, active = [0]} : () -> ((f64, f64) -> f64)
  %r = func.call_indirect %d(%x, %x) : (f64, f64) -> f64
  return %r : f64
}

// -----

func.func private @halves(%a: memref<?xf64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %goes_on = arith.cmpi ugt, %n, %c0 : index
  scf.if %goes_on {
    %m = arith.subi %n, %c1 : index
    %v = memref.load %a[%m] : memref<?xf64>
    %w = arith.mulf %v, %v : f64
    memref.store %w, %a[%m] : memref<?xf64>
    // expected-error @+1 {{'halves' calls itself, which cannot be differentiated: write it as a loop}}
    func.call @halves(%a, %m) : (memref<?xf64>, index) -> ()
  }
  return
}
func.func @recursion(%a: memref<?xf64>, %n: index, %da: memref<?xf64>) {
  %d = "grad.vjp"() {callee = @halves, active = [0]} : () -> ((memref<?xf64>, index, memref<?xf64>) -> ())
  func.call_indirect %d(%a, %n, %da) : (memref<?xf64>, index, memref<?xf64>) -> ()
  return
}

// -----

func.func @of_itself(%x: f64) -> f64 {
  // expected-error @+1 {{@of_itself takes this derivative of itself, directly or by what it calls}}
  %d = "grad.jvp"() {callee = @of_itself, active = [0]} : () -> ((f64, f64) -> (f64, f64))
  %y, %r = func.call_indirect %d(%x, %x) : (f64, f64) -> (f64, f64)
  return %r : f64
}

// -----

func.func private @no_rule(%x: f64) -> f64 {
  // expected-error @+1 {{no derivative rule for 'arith.bitcast'}}
  %i = arith.bitcast %x : f64 to i64
  %one = arith.constant 1 : i64
  %j = arith.addi %i, %one : i64
  %r = arith.bitcast %j : i64 to f64
  return %r : f64
}
func.func @caller(%x: f64) -> f64 {
  %d = "grad.vjp"() {callee = @no_rule, active = [0]} : () -> ((f64, f64) -> f64)
  %r = func.call_indirect %d(%x, %x) : (f64, f64) -> f64
  return %r : f64
}

// -----

func.func private @double(%a: memref<2xf64>, %b: memref<2xf64>) {
  %c0 = arith.constant 0 : index
  %v = memref.load %a[%c0] : memref<2xf64>
  %w = arith.mulf %v, %v : f64
  memref.store %w, %b[%c0] : memref<2xf64>
  return
}
func.func @same_memory(%a: memref<2xf64>, %da: memref<2xf64>, %db: memref<2xf64>) {
  %d = "grad.vjp"() {callee = @double, active = [0, 1]} : () -> ((memref<2xf64>, memref<2xf64>, memref<2xf64>, memref<2xf64>) -> ())
  // expected-error @+1 {{arguments 0 and 1 may share memory: a derivative of @double treats them as different memory}}
  func.call_indirect %d(%a, %a, %da, %db) : (memref<2xf64>, memref<2xf64>, memref<2xf64>, memref<2xf64>) -> ()
  return
}

// -----

func.func private @double(%a: memref<2xf64>, %b: memref<2xf64>) {
  %c0 = arith.constant 0 : index
  %v = memref.load %a[%c0] : memref<2xf64>
  %w = arith.mulf %v, %v : f64
  memref.store %w, %b[%c0] : memref<2xf64>
  return
}
func.func @same_buffer(%a: memref<2xf64>, %b: memref<2xf64>, %da: memref<2xf64>) {
  %d = "grad.vjp"() {callee = @double, active = [0, 1]} : () -> ((memref<2xf64>, memref<2xf64>, memref<2xf64>, memref<2xf64>) -> ())
  // expected-error @+1 {{arguments 2 and 3 may share memory: a derivative of @double treats them as different memory}}
  func.call_indirect %d(%a, %b, %da, %da) : (memref<2xf64>, memref<2xf64>, memref<2xf64>, memref<2xf64>) -> ()
  return
}

// -----

func.func private @double(%a: memref<2xf64>, %b: memref<2xf64>) {
  %c0 = arith.constant 0 : index
  %v = memref.load %a[%c0] : memref<2xf64>
  %w = arith.mulf %v, %v : f64
  memref.store %w, %b[%c0] : memref<2xf64>
  return
}
func.func private @passes_on(%a: memref<2xf64>, %b: memref<2xf64>, %da: memref<2xf64>, %db: memref<2xf64>) {
  %d = "grad.vjp"() {callee = @double, active = [0, 1]} : () -> ((memref<2xf64>, memref<2xf64>, memref<2xf64>, memref<2xf64>) -> ())
  // expected-error @+1 {{arguments 0 and 1 may share memory: a derivative of @double treats them as different memory}}
  func.call_indirect %d(%a, %b, %da, %db) : (memref<2xf64>, memref<2xf64>, memref<2xf64>, memref<2xf64>) -> ()
  return
}
func.func @same_memory_by_a_call(%m: memref<4xf64>, %da: memref<2xf64>, %db: memref<2xf64>) {
  %a = memref.subview %m[0] [2] [1] : memref<4xf64> to memref<2xf64>
  %b = memref.subview %m[0] [2] [1] : memref<4xf64> to memref<2xf64>
  func.call @passes_on(%a, %b, %da, %db) : (memref<2xf64>, memref<2xf64>, memref<2xf64>, memref<2xf64>) -> ()
  return
}

// -----

func.func private @square(%x: f64) -> f64 {
  %y = arith.mulf %x, %x : f64
  return %y : f64
}
func.func @handed_on(%x: f64, %c: i1) -> f64 {
  %a = "grad.vjp"() {callee = @square, active = [0]} : () -> ((f64, f64) -> f64)
  // expected-error @+1 {{a derivative of @square, expected to be called only}}
  %d = arith.select %c, %a, %a : (f64, f64) -> f64
  %r = func.call_indirect %d(%x, %x) : (f64, f64) -> f64
  return %r : f64
}

// -----

// expected-error @+1 {{memory of type 'memref<2xcomplex<f64>>', which has no derivative as a whole}}
func.func private @complex(%x: f64, %a: memref<2xcomplex<f64>>) -> f64 {
  %c0 = arith.constant 0 : index
  %v = memref.load %a[%c0] : memref<2xcomplex<f64>>
  %re = complex.re %v : complex<f64>
  %r = arith.mulf %re, %x : f64
  return %r : f64
}
func.func @caller(%x: f64, %a: memref<2xcomplex<f64>>) -> f64 {
  %d = "grad.vjp"() {callee = @complex, active = [0]} : () -> ((f64, memref<2xcomplex<f64>>, f64) -> f64)
  %r = func.call_indirect %d(%x, %a, %x) : (f64, memref<2xcomplex<f64>>, f64) -> f64
  return %r : f64
}
