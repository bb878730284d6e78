// RUN: mlirad-opt %s --verify-diagnostics --split-input-file

func.func @legal() {
  %n = "te.size"() {label = "n"} : () -> index
  %x = "te.placeholder"(%n) {label = "x"} : (index) -> tensor<?x3xf32>
  return
}

// -----

func.func @sizes(%n: index) {
  // expected-error @+1 {{2 sizes, expected 1}}
  %x = "te.placeholder"(%n, %n) {label = "x"} : (index, index) -> tensor<?x3xf32>
  return
}

// -----

func.func @not_a_tensor() {
  // expected-error @+1 {{a result of type f32, expected a ranked tensor}}
  %x = "te.placeholder"() {label = "x"} : () -> f32
  return
}

// -----

func.func @size() {
  // expected-error @+1 {{expected base type 'builtin.index' but got 'builtin.integer'}}
  %n = "te.size"() {label = "n"} : () -> i32
  return
}
