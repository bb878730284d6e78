// RUN: mlirad-opt %s --verify-diagnostics --split-input-file

func.func @legal() -> tensor<?xf32> {
  %n = "te.size"() {label = "n"} : () -> index
  %x = "te.placeholder"(%n) {label = "x"} : (index) -> tensor<?xf32>
  return %x : tensor<?xf32>
}

// -----

func.func @type() {
  // expected-error @+1 {{expected base type 'builtin.index' but got 'builtin.integer'}}
  %n = "te.size"() {label = "n"} : () -> i64
  return
}
