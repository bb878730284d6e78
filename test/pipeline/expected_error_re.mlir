// RUN: mlirad-opt %s --split-input-file --verify-diagnostics
// RUN: mlirad-opt %s --split-input-file 2>/dev/null || true

// expected-error-re @+2 {{use of value '%{{[a-z]+}}' expects different type {{.*: 'f(32|64)'}} vs}}
func.func @f(%value: f64) -> f32 {
  return %value : f32
}
