// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --scalarize-vectors

func.func @scalable(%m: memref<8xf32>, %i: index) {
  // expected-error @+1 {{'vector.load' of vector<[4]xf32>, expected a vector of a fixed shape}}
  %0 = vector.load %m[%i] : memref<8xf32>, vector<[4]xf32>
  return
}

// -----

func.func @large(%s: f32) {
  // expected-error @+1 {{'vector.broadcast' of vector<32x33xf32>, expected 1024 elements at most}}
  %0 = vector.broadcast %s : f32 to vector<32x33xf32>
  return
}

// -----

func.func @memory_of_vectors(%i: index) {
  // expected-error @+1 {{'memref.alloca' of memref<2xvector<4xf32>>, expected no vectors within another type}}
  %0 = memref.alloca() : memref<2xvector<4xf32>>
  return
}

// -----

func.func @type_cast(%m: memref<2x4xf32>) {
  // expected-error @+1 {{'vector.type_cast' of memref<vector<2x4xf32>>, expected no vectors within another type}}
  %0 = vector.type_cast %m : memref<2x4xf32> to memref<vector<2x4xf32>>
  return
}

// -----

func.func @print(%s: f32) {
  // expected-error @+1 {{'vector.print' of vectors, which scalarize-vectors does not know}}
  vector.print %s : f32
  return
}

// -----

func.func @vscale() {
  // expected-error @+1 {{'vector.vscale' of vectors, which scalarize-vectors does not know}}
  %0 = vector.vscale
  return
}

// -----

func.func @narrower(%x: vector<4xf32>) {
  // expected-error @+1 {{'vector.bitcast' of vector<4xf32> to vector<8xf16>, expected elements of one width}}
  %0 = vector.bitcast %x : vector<4xf32> to vector<8xf16>
  return
}

// -----

func.func @tensor(%t: tensor<8xf32>, %i: index, %p: f32) {
  // expected-error @+1 {{'vector.transfer_read' of tensor<8xf32>, expected a memref}}
  %0 = vector.transfer_read %t[%i], %p : tensor<8xf32>, vector<4xf32>
  return
}

// -----

func.func @unknown(%x: vector<4xf32>) {
  // expected-error @+1 {{'llvm.fneg' of vectors, which scalarize-vectors does not know}}
  %0 = llvm.fneg %x : vector<4xf32>
  return
}

// -----

// expected-error @+1 {{a function without a body that takes or gives vectors}}
func.func private @declared(vector<4xf32>)

// -----

func.func @blocks(%x: vector<2xf32>) {
  cf.br ^bb1
^bb1:
  // expected-error @+1 {{'arith.addf' among several blocks: run lift-cf-to-scf first}}
  %0 = arith.addf %x, %x : vector<2xf32>
  return
}

// -----

func.func @meeting_elements(%n: index, %x: vector<2xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%x) -> vector<2xf32> {
    scf.reduce(%x : vector<2xf32>) {
    ^bb0(%a: vector<2xf32>, %b: vector<2xf32>):
      // expected-error @+1 {{'vector.shuffle' in a reduction of vectors, expected elementwise ops}}
      %c = vector.shuffle %a, %b [1, 2] : vector<2xf32>, vector<2xf32>
      scf.reduce.return %c : vector<2xf32>
    }
  }
  return
}
