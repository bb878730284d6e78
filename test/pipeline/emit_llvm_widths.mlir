// RUN: mlirad-opt %s --split-input-file --emit=llvm --verify-diagnostics

// Casts between sizes that upstream's verifiers let pass, and LLVM does not.

llvm.func @bits(%x: f64) -> i32 {
  // expected-error @below {{this 'llvm.bitcast' cannot be translated to LLVM IR}}
  %y = llvm.bitcast %x : f64 to i32
  llvm.return %y : i32
}

// -----

llvm.func @wider(%x: vector<4xi32>) -> vector<4xi64> {
  // expected-error @below {{this 'llvm.trunc' cannot be translated}}
  %y = llvm.trunc %x : vector<4xi32> to vector<4xi64>
  llvm.return %y : vector<4xi64>
}

// -----

llvm.func @as_wide(%x: f16) -> bf16 {
  // expected-error @below {{this 'llvm.fpext' cannot be translated}}
  %y = llvm.fpext %x : f16 to bf16
  llvm.return %y : bf16
}

// -----

llvm.func @narrower(%x: f64) -> f32 {
  // expected-error @below {{this 'llvm.fpext' cannot be translated}}
  %y = llvm.fpext %x : f64 to f32
  llvm.return %y : f32
}

// -----

llvm.func @lanes(%x: vector<4xi32>) -> vector<2xf32> {
  // expected-error @below {{this 'llvm.sitofp' cannot be translated}}
  %y = llvm.sitofp %x : vector<4xi32> to vector<2xf32>
  llvm.return %y : vector<2xf32>
}
