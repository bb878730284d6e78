// RUN: mlirad-opt %s --lower-vector-math | filecheck %s
// RUN: mlirad-opt %s --lower-vector-math --lower-vector-math | filecheck %s
// RUN: mlirad-opt %s --lower-vector-math=instructions=avx512 | filecheck %s --check-prefix=E
// RUN: mlirad-opt %s --lower-vector-math=instructions=neon | filecheck %s --check-prefix=N
// RUN: mlirad-opt %s --lower-vector-math="instructions=sse missing=tanh+exp" | filecheck %s --check-prefix=B

// One function of scalars, with the argument in all lanes, which the vectorizer knows variants of.
// CHECK: llvm.func @_ZGVdN8v_tanhf(vector<8xf32>) -> vector<8xf32> attributes {memory_effects = #llvm.memory_effects<other = none
// CHECK: llvm.func internal @libmvec.tanhf.4(%{{.*}}: vector<4xf32>) -> vector<4xf32>
// CHECK: llvm.shufflevector %{{.*}}, %{{.*}} [0, 1, 2, 3, 0, 1, 2, 3]
// CHECK: llvm.func internal @libmvec.tanhf(%[[X:.*]]: f32) -> f32
// CHECK-SAME: no_inline
// CHECK-SAME: ["vector-function-abi-variant", "_ZGV_LLVM_N8v_libmvec.tanhf(_ZGVdN8v_tanhf),_ZGV_LLVM_N4v_libmvec.tanhf(libmvec.tanhf.4),_ZGV_LLVM_N2v_libmvec.tanhf(libmvec.tanhf.2)"]
// CHECK: %[[ALL:.*]] = llvm.shufflevector %{{.*}}, %{{.*}} [0, 0, 0, 0, 0, 0, 0, 0]
// CHECK: %[[R:.*]] = llvm.call @_ZGVdN8v_tanhf(%[[ALL]])
// CHECK: llvm.extractelement %[[R]]
// E: "_ZGV_LLVM_N16v_libmvec.tanhf(_ZGVeN16v_tanhf),_ZGV_LLVM_N8v_libmvec.tanhf(libmvec.tanhf.8),_ZGV_LLVM_N4v_libmvec.tanhf(libmvec.tanhf.4)"
// N: "_ZGV_LLVM_N4v_libmvec.tanhf(_ZGVnN4v_tanhf),_ZGV_LLVM_N2v_libmvec.tanhf(libmvec.tanhf.2)"

// A power of one number is C's.
// CHECK: llvm.func internal @libmvec.powf(
// CHECK-NEXT: llvm.intr.pow

// CHECK: llvm.mlir.global appending @llvm.compiler.used()
// CHECK: llvm.mlir.addressof @_ZGVdN8v_tanhf
// CHECK: llvm.mlir.addressof @libmvec.tanhf.4

// CHECK-LABEL: func.func @scalars
// B-LABEL: func.func @scalars
func.func @scalars(%x: f32, %d: f64, %h: f16) -> (f32, f64, f16) {
  // CHECK: llvm.call @libmvec.tanhf(%{{.*}}) : (f32) -> f32
  // B: math.tanh
  %0 = math.tanh %x {field.exact} : f32
  // CHECK: llvm.call @libmvec.exp(%{{.*}}) : (f64) -> f64
  // B: math.exp
  %1 = math.exp %d {field.derivative} : f64
  // CHECK: llvm.call @libmvec.atan2f(%{{.*}}, %{{.*}}) : (f32, f32) -> f32
  // B: llvm.call @libmvec.atan2f
  %2 = math.atan2 %0, %x {field.derivative} : f32
  // CHECK: math.exp %{{.*}} : f16
  %3 = math.exp %h {field.derivative} : f16
  return %2, %1, %3 : f32, f64, f16
}

// CHECK-LABEL: func.func @powers
func.func @powers(%x: f32, %y: f32) -> (f32, f32, f32) {
  // CHECK: llvm.call @libmvec.powf
  %0 = math.powf %x, %y {field.derivative} : f32
  // CHECK: math.powf
  %1 = math.powf %x, %y {field.exact} : f32
  // CHECK: math.powf
  %c = arith.constant 2.5 : f32
  %2 = math.powf %x, %c {field.derivative} : f32
  return %0, %1, %2 : f32, f32, f32
}

// As many lanes as the library takes.
// CHECK-LABEL: func.func @all_lanes(
// CHECK-NEXT: %[[R:.*]] = llvm.call @_ZGVdN8v_sinf
// CHECK-NEXT: return %[[R]]
// E-LABEL: func.func @all_lanes(
// E-NEXT: %[[V:.*]] = vector.shuffle %[[A:.*]], %[[A]] [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7]
// E-NEXT: %[[R:.*]] = llvm.call @_ZGVeN16v_sinf(%[[V]])
// E-NEXT: vector.shuffle %[[R]], %[[R]] [0, 1, 2, 3, 4, 5, 6, 7]
func.func @all_lanes(%v: vector<8xf32>) -> vector<8xf32> {
  %0 = math.sin %v {field.derivative} : vector<8xf32>
  return %0 : vector<8xf32>
}

// CHECK-LABEL: func.func @more
// CHECK: vector.shuffle %{{.*}} [0, 1, 2, 3]
// CHECK: llvm.call @_ZGVdN4vv_atan2
// CHECK: vector.shuffle %{{.*}} [4, 5, 4, 5]
// CHECK: llvm.call @_ZGVdN4vv_atan2
// CHECK: vector.shuffle %{{.*}} [0, 1, 2, 3, 4, 5, 6, 7]
// CHECK: vector.shuffle %{{.*}} [0, 1, 2, 3, 4, 5]
func.func @more(%v: vector<6xf64>, %w: vector<6xf64>) -> vector<6xf64> {
  %0 = math.atan2 %v, %w {field.derivative} : vector<6xf64>
  return %0 : vector<6xf64>
}

// CHECK-LABEL: func.func @rows
// CHECK: vector.shape_cast %{{.*}} : vector<2x8xf32> to vector<16xf32>
// CHECK-COUNT-2: llvm.call @_ZGVdN8v_erff
// CHECK: vector.shape_cast %{{.*}} : vector<16xf32> to vector<2x8xf32>
func.func @rows(%v: vector<2x8xf32>) -> vector<2x8xf32> {
  %0 = math.erf %v {field.derivative} : vector<2x8xf32>
  return %0 : vector<2x8xf32>
}

// CHECK-LABEL: func.func @scalable
// CHECK-NEXT: math.sin
func.func @scalable(%v: vector<[4]xf32>) -> vector<[4]xf32> {
  %0 = math.sin %v {field.derivative} : vector<[4]xf32>
  return %0 : vector<[4]xf32>
}
