module {
  func.func @fill(%arg0: !field.array<f32, [-1]> {field.argument = 0 : i64}) {
    %c0_i64 = arith.constant 0 : i64
    %0 = field.dim %arg0, 0
    %1 = arith.index_cast %0 : index to i32
    %alloca = memref.alloca() : memref<i64>
    %c0_i64_0 = arith.constant 0 : i64
    memref.store %c0_i64_0, %alloca[] : memref<i64>
    %c0 = arith.constant 0 : index
    %cst = arith.constant 1.000000e+00 : f32
    field.store %cst, %arg0[%c0]
    return
  }
}
