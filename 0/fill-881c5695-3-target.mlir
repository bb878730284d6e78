module attributes {field.poles = []} {
  llvm.func internal @fill(%arg0: !llvm.ptr {field.argument = 0 : i64, field.array = !field.array<f32, [-1]>, field.written, llvm.noalias}, %arg1: i64 {field.argument = 0 : i64, field.extent = 0 : i64}) attributes {llvm.emit_c_interface, passthrough = [["prefer-vector-width", "512"]]} {
    %0 = llvm.mlir.constant(1.000000e+00 : f32) : f32
    llvm.store %0, %arg0 : f32, !llvm.ptr
    llvm.return
  }
  llvm.func @_mlir_ciface_fill(%arg0: !llvm.ptr {field.argument = 0 : i64, field.array = !field.array<f32, [-1]>, field.written, llvm.noalias}, %arg1: i64 {field.argument = 0 : i64, field.extent = 0 : i64}) attributes {llvm.emit_c_interface, no_inline, passthrough = [["prefer-vector-width", "512"]]} {
    llvm.call @fill(%arg0, %arg1) : (!llvm.ptr, i64) -> ()
    llvm.return
  }
}
