// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --differentiate-forward

// Tangents are refused as adjoints are: see differentiate_reverse_other_memory.mlir.

"snode.root"() ({
  "snode.place"() {sym_name = "x", element = f64, component_shape = [], duals = [@x.dual]} : () -> ()
  "snode.place"() {sym_name = "x.dual", element = f64, component_shape = []} : () -> ()
}) {sym_name = "S0"} : () -> ()

func.func @through_a_slot() {
  %x = "field.get"() {field = @x} : () -> !field.array<f64, []>
  %slot = memref.alloca() : memref<f64>
  %v = "field.load"(%x) : (!field.array<f64, []>) -> f64
  // expected-error @below {{a value that carries a derivative is stored to a memref, where it would be lost}}
  memref.store %v, %slot[] : memref<f64>
  %w = memref.load %slot[] : memref<f64>
  "field.store"(%w, %x) : (f64, !field.array<f64, []>) -> ()
  return
}

// -----

"snode.root"() ({
  "snode.place"() {sym_name = "x", element = f64, component_shape = [], duals = [@x.dual]} : () -> ()
  "snode.place"() {sym_name = "x.dual", element = f64, component_shape = []} : () -> ()
}) {sym_name = "S0"} : () -> ()

func.func @through_a_vector() {
  %x = "field.get"() {field = @x} : () -> !field.array<f64, []>
  %v = "field.load"(%x) : (!field.array<f64, []>) -> f64
  // expected-error @below {{no derivative rule for 'vector.broadcast'}}
  %w = vector.broadcast %v : f64 to vector<4xf64>
  vector.print %w : vector<4xf64>
  return
}

// -----

// expected-error @below {{argument 0 is a 'memref<8xf64>': derivatives are taken of fields}}
func.func @over_buffers(%x: memref<8xf64>) {
  return
}
