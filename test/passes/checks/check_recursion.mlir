// RUN: not mlirad-opt %s --check-recursion --split-input-file 2>&1 | filecheck %s

// A derivative would have to pass through the stack of 'power'.
// CHECK: 'power' calls itself, which cannot be differentiated
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "a", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [8]} : () -> ()
}) {sym_name = "S0"} : () -> ()
func.func @writes_floats() {
  %c0 = arith.constant 0 : index
  %a = "field.get"() {field = @a} : () -> !field.array<f32, [8]>
  %stack = memref.alloca() {field.recursion = "power"} : memref<4xf32>
  %v = memref.load %stack[%c0] : memref<4xf32>
  "field.store"(%v, %a, %c0) : (f32, !field.array<f32, [8]>, index) -> ()
  return
}

// -----

// Integers carry no derivative.
// CHECK: func.func @gives_an_integer
func.func @gives_an_integer() -> i32 {
  %c0 = arith.constant 0 : index
  %stack = memref.alloca() {field.recursion = "depth"} : memref<4xi32>
  %v = memref.load %stack[%c0] : memref<4xi32>
  return %v : i32
}
