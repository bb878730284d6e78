// RUN: mlirad-opt %s --verify-diagnostics --check-printed-text

gpu.module @kernels {
  gpu.func @f(%v: f64) kernel {
    // expected-error @below {{'print' in a kernel for an AMD GPU: another machine can run it}}
    gpu.printf "%f\n", %v : f64
    gpu.return
  }
}
