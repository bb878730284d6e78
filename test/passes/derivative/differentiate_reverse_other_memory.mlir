// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --differentiate-reverse

// Every function passes a derivative through what reverse mode has no rule for.

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f64, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f64, component_shape = []} : () -> ()
  }) {axes = [0], extents = [8]} : () -> ()
}) {sym_name = "S0"} : () -> ()

func.func @through_a_slot(%i: index) {
  %x = "field.get"() {field = @x} : () -> !field.array<f64, [8]>
  %slot = memref.alloca() : memref<f64>
  %v = "field.load"(%x, %i) : (!field.array<f64, [8]>, index) -> f64
  // expected-error @below {{a value that carries a derivative is stored to a memref, where it would be lost: run mem2reg first, or use 'field.alloca'}}
  memref.store %v, %slot[] : memref<f64>
  %w = memref.load %slot[] : memref<f64>
  %p = arith.mulf %v, %w : f64
  "field.store"(%p, %x, %i) : (f64, !field.array<f64, [8]>, index) -> ()
  return
}

// -----

"snode.root"() ({
  "snode.place"() {sym_name = "x", element = f64, component_shape = [], adjoint = @x.grad} : () -> ()
  "snode.place"() {sym_name = "x.grad", element = f64, component_shape = []} : () -> ()
}) {sym_name = "S0"} : () -> ()

func.func @through_a_vector() {
  %x = "field.get"() {field = @x} : () -> !field.array<f64, []>
  %v = "field.load"(%x) : (!field.array<f64, []>) -> f64
  // expected-error @below {{no derivative rule for 'vector.broadcast'}}
  %w = vector.broadcast %v : f64 to vector<4xf64>
  %p = arith.mulf %w, %w : vector<4xf64>
  %s = vector.reduction <add>, %p : vector<4xf64> into f64
  "field.store"(%s, %x) : (f64, !field.array<f64, []>) -> ()
  return
}

// -----

"snode.root"() ({
  "snode.place"() {sym_name = "x", element = f64, component_shape = [], adjoint = @x.grad} : () -> ()
  "snode.place"() {sym_name = "x.grad", element = f64, component_shape = []} : () -> ()
}) {sym_name = "S0"} : () -> ()

func.func @through_a_complex_number() {
  %x = "field.get"() {field = @x} : () -> !field.array<f64, []>
  %v = "field.load"(%x) : (!field.array<f64, []>) -> f64
  // expected-error @below {{no derivative rule for 'complex.create'}}
  %w = complex.create %v, %v : complex<f64>
  %s = complex.abs %w : complex<f64>
  "field.store"(%s, %x) : (f64, !field.array<f64, []>) -> ()
  return
}

// -----

"snode.root"() ({
  "snode.place"() {sym_name = "x", element = f64, component_shape = [], adjoint = @x.grad} : () -> ()
  "snode.place"() {sym_name = "x.grad", element = f64, component_shape = []} : () -> ()
}) {sym_name = "S0"} : () -> ()

func.func @through_bits() {
  %x = "field.get"() {field = @x} : () -> !field.array<f64, []>
  %v = "field.load"(%x) : (!field.array<f64, []>) -> f64
  // expected-error @below {{no derivative rule for 'arith.bitcast'}}
  %b = arith.bitcast %v : f64 to i64
  %w = arith.bitcast %b : i64 to f64
  "field.store"(%w, %x) : (f64, !field.array<f64, []>) -> ()
  return
}

// -----

// expected-error @below {{argument 0 is a 'memref<8xf64>': derivatives are taken of fields and of arguments of type '!field.array' only}}
func.func @over_buffers(%x: memref<8xf64>, %y: memref<f64>) {
  %c0 = arith.constant 0 : index
  %v = memref.load %x[%c0] : memref<8xf64>
  memref.store %v, %y[] : memref<f64>
  return
}

// -----

// expected-error @below {{argument 0 is a 'memref<8xf64>'}}
func.func @over_marked_buffers(%x: memref<8xf64> {field.needs_grad}) {
  return
}

// -----

// expected-error @below {{argument 0 is a 'tensor<8xf64>'}}
func.func @over_tensors(%x: tensor<8xf64>) {
  return
}

// -----

"snode.root"() ({
  "snode.place"() {sym_name = "x", element = f64, component_shape = [], adjoint = @x.grad} : () -> ()
  "snode.place"() {sym_name = "x.grad", element = f64, component_shape = []} : () -> ()
}) {sym_name = "S0"} : () -> ()

func.func @to_a_result() -> f64 {
  %x = "field.get"() {field = @x} : () -> !field.array<f64, []>
  %v = "field.load"(%x) : (!field.array<f64, []>) -> f64
  // expected-error @below {{a result that carries a derivative: store it in a field}}
  return %v : f64
}

// -----

func.func @of_a_number(%v: f64) -> f64 {
  %w = arith.mulf %v, %v : f64
  // expected-error @below {{result 0 is made of numbers that have no derivative here: pass them in fields}}
  return %w : f64
}

// -----

"snode.root"() ({
  "snode.place"() {sym_name = "x", element = f64, component_shape = [], adjoint = @x.grad} : () -> ()
  "snode.place"() {sym_name = "x.grad", element = f64, component_shape = []} : () -> ()
  "snode.place"() {sym_name = "middle", element = f64, component_shape = []} : () -> ()
}) {sym_name = "S0"} : () -> ()

func.func @through_a_field_without_adjoint() {
  %x = "field.get"() {field = @x} : () -> !field.array<f64, []>
  %m = "field.get"() {field = @middle} : () -> !field.array<f64, []>
  %v = "field.load"(%x) : (!field.array<f64, []>) -> f64
  "field.store"(%v, %m) : (f64, !field.array<f64, []>) -> ()
  // expected-error @below {{field 'middle' holds what carries a derivative and has no adjoint or dual of its own, so the derivative would be lost}}
  %w = "field.load"(%m) : (!field.array<f64, []>) -> f64
  "field.store"(%w, %x) : (f64, !field.array<f64, []>) -> ()
  return
}

// -----

"snode.root"() ({
  "snode.place"() {sym_name = "x", element = f64, component_shape = [], adjoint = @x.grad} : () -> ()
  "snode.place"() {sym_name = "x.grad", element = f64, component_shape = []} : () -> ()
}) {sym_name = "S0"} : () -> ()

func.func private @twice(f64) -> f64

func.func @through_a_call() {
  %x = "field.get"() {field = @x} : () -> !field.array<f64, []>
  %v = "field.load"(%x) : (!field.array<f64, []>) -> f64
  // expected-error @below {{no derivative rule for 'func.call'}}
  %w = func.call @twice(%v) : (f64) -> f64
  "field.store"(%w, %x) : (f64, !field.array<f64, []>) -> ()
  return
}

// -----

"snode.root"() ({
  "snode.place"() {sym_name = "x", element = f64, component_shape = [], adjoint = @x.grad} : () -> ()
  "snode.place"() {sym_name = "x.grad", element = f64, component_shape = []} : () -> ()
}) {sym_name = "S0"} : () -> ()

// Decisions and reports take floats, and pass no derivative on.
func.func @decisions() {
  %x = "field.get"() {field = @x} : () -> !field.array<f64, []>
  %v = "field.load"(%x) : (!field.array<f64, []>) -> f64
  "field.print"(%v) {format = "{}\0A"} : (f64) -> ()
  %n = arith.fptosi %v : f64 to i64
  %w = arith.sitofp %n : i64 to f64
  "field.store"(%w, %x) : (f64, !field.array<f64, []>) -> ()
  return
}

// -----

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f64, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f64, component_shape = []} : () -> ()
  }) {axes = [0], extents = [8]} : () -> ()
}) {sym_name = "S0"} : () -> ()

func.func @in_a_serial_loop(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %x = "field.get"() {field = @x} : () -> !field.array<f64, [8]>
  scf.for %k = %c0 to %n step %c1 {
    // expected-error @below {{the reverse of a parallel loop within a serial one: run serialize-inner-loops first}}
    scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
      %v = "field.load"(%x, %i) : (!field.array<f64, [8]>, index) -> f64
      %w = arith.addf %v, %v : f64
      "field.store"(%w, %x, %i) : (f64, !field.array<f64, [8]>, index) -> ()
      scf.reduce
    }
  }
  return
}

// -----

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f64, component_shape = [], adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f64, component_shape = []} : () -> ()
  }) {axes = [0], extents = [8]} : () -> ()
}) {sym_name = "S0"} : () -> ()

func.func @by_a_clock(%i: index, %j: index) {
  %x = "field.get"() {field = @x} : () -> !field.array<f64, [8]>
  // expected-error @+1 {{a derivative depends on this clock}}
  %t = "field.clock"() : () -> i64
  %f = arith.sitofp %t : i64 to f64
  %v = "field.load"(%x, %i) : (!field.array<f64, [8]>, index) -> f64
  %p = arith.mulf %v, %f : f64
  "field.store"(%p, %x, %j) : (f64, !field.array<f64, [8]>, index) -> ()
  return
}
