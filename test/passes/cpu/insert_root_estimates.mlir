// RUN: mlirad-opt %s --split-input-file --insert-root-estimates | filecheck %s

// CHECK-LABEL: func.func @quotient
// CHECK-SAME: llvm.passthrough = {{\[\[}}"reciprocal-estimates", "sqrtf:0,vec-sqrtf:0"{{\]\]}}
// CHECK: %[[ROOT:.*]] = math.sqrt %[[X:.*]] : f32
// CHECK: %[[Y:.*]] = arith.divf %{{.*}}, %[[ROOT]] fastmath<arcp> : f32
// CHECK: %[[P:.*]] = arith.mulf %[[X]], %[[Y]] : f32
// CHECK: %[[N:.*]] = arith.negf %[[P]] : f32
// CHECK: %[[E:.*]] = math.fma %[[N]], %[[Y]], %{{.*}} : f32
// CHECK: %[[F:.*]] = math.fma %[[E]], %{{.*}}, %{{.*}} : f32
// CHECK: %[[D:.*]] = arith.mulf %[[Y]], %[[E]] : f32
// CHECK: %[[R:.*]] = math.fma %[[D]], %[[F]], %[[Y]] : f32
// One estimate for all; the root by it, too.
// CHECK: arith.mulf %[[X]], %[[R]]
// CHECK: arith.mulf %{{.*}}, %[[R]]
// CHECK: arith.mulf %{{.*}}, %[[R]]
// Other quotients lose the flag.
// CHECK: arith.divf %{{.*}} fastmath<reassoc,nsz,contract,afn>
func.func @quotient(%a: f32, %b: f32, %x: f32) -> (f32, f32, f32, f32) {
  %r = math.sqrt %x fastmath<reassoc,arcp,contract,afn,nsz> : f32
  %p = arith.divf %a, %r fastmath<reassoc,arcp,contract,afn,nsz> : f32
  %q = arith.divf %b, %r fastmath<reassoc,arcp,contract,afn,nsz> : f32
  %s = arith.divf %b, %a fastmath<reassoc,arcp,contract,afn,nsz> : f32
  return %p, %q, %r, %s : f32, f32, f32, f32
}

// -----

// Two quotients by another divisor: LLVM would have taken its reciprocal.
// CHECK-LABEL: func.func @shared
// CHECK: %[[R:.*]] = arith.divf %{{.*}}, %[[D:.*]] fastmath<reassoc,nsz,contract,afn>
// CHECK: arith.mulf %{{.*}}, %[[R]]
// CHECK: arith.mulf %{{.*}}, %[[R]]
func.func @shared(%a: f32, %b: f32, %d: f32, %x: f32) -> (f32, f32, f32) {
  %r = math.rsqrt %x fastmath<afn> : f32
  %p = arith.divf %a, %d fastmath<reassoc,arcp,contract,afn,nsz> : f32
  %q = arith.divf %b, %d fastmath<reassoc,arcp,contract,afn,nsz> : f32
  return %p, %q, %r : f32, f32, f32
}

// -----

// CHECK-LABEL: func.func @exact_root
// CHECK: math.fma
// CHECK: %[[ROOT:.*]] = math.sqrt %{{.*}} {field.exact} : f32
// CHECK-NOT: arith.divf
// CHECK: return %{{.*}}, %[[ROOT]]
func.func @exact_root(%a: f32, %x: f32) -> (f32, f32) {
  %r = math.sqrt %x {field.exact} : f32
  %p = arith.divf %a, %r fastmath<arcp> : f32
  return %p, %r : f32, f32
}

// -----

// Nothing that is exact, of f64, or only a root.
// CHECK-LABEL: func.func @others
// CHECK-NOT: passthrough
// CHECK-NOT: fma
func.func @others(%a: f32, %x: f32, %d: f64) -> (f32, f32, f64) {
  %r = math.sqrt %x {field.exact} : f32
  %p = arith.divf %a, %r {field.exact} : f32
  %s = math.sqrt %a fastmath<afn> : f32
  %e = math.sqrt %d fastmath<reassoc,arcp,contract,afn,nsz> : f64
  %f = arith.divf %d, %e fastmath<reassoc,arcp,contract,afn,nsz> : f64
  return %p, %s, %f : f32, f32, f64
}

// -----

// CHECK-LABEL: func.func @vectors
// CHECK-COUNT-3: math.fma {{.*}} : vector<8xf32>
// CHECK-NOT: math.rsqrt
func.func @vectors(%x: vector<8xf32>) -> vector<8xf32> {
  %r = math.rsqrt %x fastmath<afn> : vector<8xf32>
  return %r : vector<8xf32>
}
