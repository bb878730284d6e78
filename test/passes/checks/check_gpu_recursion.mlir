// RUN: mlirad-opt %s --check-gpu-recursion --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func private @twice
gpu.module @called {
  func.func private @twice(%x: f32) -> f32 {
    %y = arith.addf %x, %x : f32
    return %y : f32
  }
  gpu.func @kernel(%x: f32) kernel {
    %y = func.call @twice(%x) : (f32) -> f32
    gpu.return
  }
}

// -----

gpu.module @recursion {
  func.func private @down(%x: f32) -> f32 {
    %y = func.call @up(%x) : (f32) -> f32
    return %y : f32
  }
  func.func private @up(%x: f32) -> f32 {
    // expected-error @+1 {{'down' calls itself, for which the threads of a GPU have no stack}}
    %y = func.call @down(%x) : (f32) -> f32
    return %y : f32
  }
  gpu.func @kernel(%x: f32) kernel {
    %y = func.call @down(%x) : (f32) -> f32
    gpu.return
  }
}
