// RUN: mlirad-opt %s --cpu-pipeline=estimates=false --emit=asm --triple=aarch64-linux-gnu | filecheck %s
// RUN: mlirad-opt %s --cpu-pipeline=estimates=false --emit=asm --triple=arm64-apple-macosx11.0.0 | filecheck %s --check-prefix=APPLE
// RUN: mlirad-opt %s --cpu-pipeline --emit=asm --chip=x86-64-v3 | filecheck %s --check-prefix=X86
// RUN: not mlirad-opt %s --cpu-pipeline --emit=asm --triple=aarch64-windows 2>&1 | filecheck %s --check-prefix=TRIPLE
// RUN: not mlirad-opt %s --cpu-pipeline --emit=asm --chip=apple-m1 2>&1 | filecheck %s --check-prefix=CHIP

"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [256]} : () -> ()
  "snode.dense"() ({
    "snode.place"() {sym_name = "y", element = f32, component_shape = []} : () -> ()
  }) {axes = [0], extents = [256]} : () -> ()
}) {sym_name = "S0"} : () -> ()

// LLVM makes vectors of four. The root is an instruction: estimates of Arm's processors have 8 bits.
// CHECK-LABEL: _mlir_ciface_scale:
// CHECK-NOT: frsqrte
// CHECK: fsqrt {{v[0-9]+}}.4s
// CHECK: fmla {{v[0-9]+}}.4s
// APPLE-LABEL: __mlir_ciface_scale:
// APPLE: fsqrt.4s
// APPLE: fmla.4s
// X86-LABEL: _mlir_ciface_scale:
// X86: vfmadd{{[0-9]+}}ps
// TRIPLE: mlirad-opt: error: unknown triple 'aarch64-windows', expected one of x86_64-linux-gnu, aarch64-linux-gnu
// CHIP: mlirad-opt: error: unknown chip 'apple-m1', expected one of x86-64
func.func @scale(%factor: f32) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [256]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, [256]>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 256 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %value = "field.load"(%x, %i) : (!field.array<f32, [256]>, index) -> f32
    %root = math.sqrt %value : f32
    %sum = math.fma %root, %factor, %value : f32
    "field.store"(%sum, %y, %i) : (f32, !field.array<f32, [256]>, index) -> ()
  }
  return
}
