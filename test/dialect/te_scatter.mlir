// RUN: mlirad-opt %s --verify-diagnostics --split-input-file

func.func @legal(%n: index, %v: f32, %holds: i1) {
  %y = "te.scatter"(%n, %n, %n) ({
  ^bb0(%i: index, %j: index):
    "te.put"(%holds, %v, %j) : (i1, f32, index) -> ()
  }) {label = "y"} : (index, index, index) -> tensor<?xf32>
  return
}

// -----

func.func @end(%n: index, %v: f32) {
  // expected-error @+1 {{the region of 'te.scatter' ends in no 'te.put'}}
  %y = "te.scatter"(%n) ({
  ^bb0(%i: index):
    "te.yield"(%v) : (f32) -> ()
  }) {label = "y"} : (index) -> tensor<4xf32>
  return
}

// -----

func.func @target(%n: index, %v: f32, %holds: i1) {
  // expected-error @+1 {{the region of 'te.scatter' gives (i1, f32), expected (i1, f32, index)}}
  %y = "te.scatter"(%n) ({
  ^bb0(%i: index):
    "te.put"(%holds, %v) : (i1, f32) -> ()
  }) {label = "y"} : (index) -> tensor<4xf32>
  return
}

// -----

func.func @outside(%holds: i1, %v: f32) {
  %r = scf.if %holds -> (f32) {
    // expected-error @+1 {{'te.put' stands outside of a 'te.scatter'}}
    "te.put"(%holds, %v) : (i1, f32) -> ()
  } else {
    scf.yield %v : f32
  }
  return
}

// -----

func.func @yield(%c: i1, %v: f32) {
  %r = scf.if %c -> (f32) {
    // expected-error @+1 {{'te.yield' stands outside a region of its dialect}}
    "te.yield"(%v) : (f32) -> ()
  } else {
    scf.yield %v : f32
  }
  return
}
