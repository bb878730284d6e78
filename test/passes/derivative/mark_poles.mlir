// RUN: mlirad-opt %s --split-input-file --mark-poles | filecheck %s
// RUN: mlirad-opt %s --split-input-file --mark-poles --mark-poles | filecheck %s

// CHECK: module attributes {field.poles = {{.}}[@z, true, @x, @y], [@y, true, @x]]}
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "y", element = f32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "z", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()
func.func @quotient(%i: index, %a: f32) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [16]>
  %z = "field.get"() {field = @z} : () -> !field.array<f32, [16]>
  %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
  %w = "field.load"(%y, %i) : (!field.array<f32, [16]>, index) -> f32
  %p = arith.mulf %v, %w : f32
  "field.store"(%p, %z, %i) : (f32, !field.array<f32, [16]>, index) -> ()
  %q = arith.divf %a, %v : f32
  "field.store"(%q, %y, %i) : (f32, !field.array<f32, [16]>, index) -> ()
  return
}

// -----

// What a condition, or a constant added to it, keeps from 0 may be divided by.
// CHECK: module attributes {field.poles = {{.}}[@y, false, @x]]}
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "y", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()
func.func @guarded(%i: index, %a: f32) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [16]>
  %zero = arith.constant 0.0 : f32
  %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
  %c = arith.cmpf ogt, %v, %zero : f32
  scf.if %c {
    %small = arith.constant 1.0e-10 : f32
    %s = arith.addf %v, %small : f32
    %p = arith.divf %a, %s : f32
    %q = arith.divf %p, %v : f32
    "field.store"(%q, %y, %i) : (f32, !field.array<f32, [16]>, index) -> ()
  }
  return
}

// -----

// CHECK: module attributes {field.poles = {{.}}[@y, true, @x]]}
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [], field.infinite} : () -> ()
    "snode.place"() {sym_name = "y", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [16]} : () -> ()
}) {sym_name = "S0"} : () -> ()
func.func @of_an_infinite_array(%i: index) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [16]>
  %v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32
  %p = arith.addf %v, %v : f32
  "field.store"(%p, %y, %i) : (f32, !field.array<f32, [16]>, index) -> ()
  return
}
