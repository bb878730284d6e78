// RUN: mlirad-opt %s --differentiate-te --canonicalize --cse | filecheck %s
// RUN: mlirad-opt %s --differentiate-te --canonicalize --cse --merge-te-computes --canonicalize --cse --remove-te-zeros --canonicalize --cse | filecheck %s

// No tensor of a gradient has more axes than the inputs and outputs: none is a Jacobian.

// Both gradients of a layer whose Jacobian has 3e12 elements.
// CHECK-LABEL: func.func @dense(
// CHECK-NOT: tensor<{{([0-9]+x){3,}f32}}>
// CHECK: return %{{.*}} : tensor<32x10000xf32>, tensor<3000x10000xf32>
func.func @dense(%arg0: tensor<32x10000xf32>, %arg1: tensor<3000x10000xf32>, %arg2: tensor<32x3000xf32>) -> tensor<32x3000xf32> attributes {te.adjoints = {inputs = [0, 1], head = 2}} {
  %c10000 = arith.constant 10000 : index
  %c0 = arith.constant 0 : index
  %0 = "te.compute"() ({
  ^bb0(%arg3: index, %arg4: index):
    %cst = arith.constant 0.000000e+00 : f32
    %1 = "te.reduce"(%c0, %c10000, %cst) ({
    ^bb0(%arg5: index):
      %2 = "te.read"(%arg0, %arg3, %arg5) : (tensor<32x10000xf32>, index, index) -> f32
      %3 = "te.read"(%arg1, %arg4, %arg5) : (tensor<3000x10000xf32>, index, index) -> f32
      %4 = arith.mulf %2, %3 : f32
      "te.yield"(%4) : (f32) -> ()
    }, {
    ^bb0(%arg5: f32, %arg6: f32):
      %2 = arith.addf %arg5, %arg6 : f32
      "te.yield"(%2) : (f32) -> ()
    }) {field.axes = [{name = "k"}], kind = "sum", operandSegmentSizes = array<i32: 2, 1>} : (index, index, f32) -> f32
    "te.yield"(%1) : (f32) -> ()
  }) {field.axes = [{name = "i"}, {name = "j"}], label = "dense"} : () -> tensor<32x3000xf32>
  return %0 : tensor<32x3000xf32>
}

// A convolution with strides and dilation.
// CHECK-LABEL: func.func @strided(
// CHECK-NOT: tensor<{{([0-9]+x){5,}f32}}>
// CHECK: return %{{.*}} : tensor<2x4x9x11xf32>, tensor<3x4x3x3xf32>
func.func @strided(%arg0: tensor<2x4x9x11xf32>, %arg1: tensor<3x4x3x3xf32>, %arg2: tensor<2x3x2x3xf32>) -> tensor<2x3x2x3xf32> attributes {te.adjoints = {inputs = [0, 1], head = 2}} {
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c0 = arith.constant 0 : index
  %0 = "te.compute"() ({
  ^bb0(%arg3: index, %arg4: index, %arg5: index, %arg6: index):
    %cst = arith.constant 0.000000e+00 : f32
    %1 = "te.reduce"(%c0, %c4, %c0, %c3, %c0, %c3, %cst) ({
    ^bb0(%arg7: index, %arg8: index, %arg9: index):
      %c0_0 = arith.constant 0 : index
      %2 = arith.addi %c0_0, %arg7 : index
      %c2 = arith.constant 2 : index
      %3 = arith.muli %c2, %arg5 : index
      %c3_1 = arith.constant 3 : index
      %4 = arith.muli %c3_1, %arg8 : index
      %5 = arith.addi %3, %4 : index
      %c3_2 = arith.constant 3 : index
      %6 = arith.muli %c3_2, %arg6 : index
      %c2_3 = arith.constant 2 : index
      %7 = arith.muli %c2_3, %arg9 : index
      %8 = arith.addi %6, %7 : index
      %9 = "te.read"(%arg0, %arg3, %2, %5, %8) : (tensor<2x4x9x11xf32>, index, index, index, index) -> f32
      %10 = "te.read"(%arg1, %arg4, %arg7, %arg8, %arg9) : (tensor<3x4x3x3xf32>, index, index, index, index) -> f32
      %11 = arith.mulf %9, %10 : f32
      "te.yield"(%11) : (f32) -> ()
    }, {
    ^bb0(%arg7: f32, %arg8: f32):
      %2 = arith.addf %arg7, %arg8 : f32
      "te.yield"(%2) : (f32) -> ()
    }) {field.axes = [{name = "c"}, {name = "r"}, {name = "s"}], kind = "sum", operandSegmentSizes = array<i32: 6, 1>} : (index, index, index, index, index, index, f32) -> f32
    "te.yield"(%1) : (f32) -> ()
  }) {field.axes = [{name = "b"}, {name = "k"}, {name = "i"}, {name = "j"}], label = "conv"} : () -> tensor<2x3x2x3xf32>
  return %0 : tensor<2x3x2x3xf32>
}

// The maximum of overlapping windows: where it is first is a tensor of its own.
// CHECK-LABEL: func.func @pool(
// CHECK-NOT: tensor<{{([0-9]+x){5,}f32}}>
// CHECK: return %{{.*}} : tensor<1x2x10x10xf32>
func.func @pool(%arg0: tensor<1x2x10x10xf32>, %arg1: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> attributes {te.adjoints = {inputs = [0], head = 1}} {
  %c3 = arith.constant 3 : index
  %c0 = arith.constant 0 : index
  %0 = "te.compute"() ({
  ^bb0(%arg2: index, %arg3: index, %arg4: index, %arg5: index):
    %cst = arith.constant 0xFF800000 : f32
    %1 = "te.reduce"(%c0, %c3, %c0, %c3, %cst) ({
    ^bb0(%arg6: index, %arg7: index):
      %c2 = arith.constant 2 : index
      %2 = arith.muli %c2, %arg4 : index
      %3 = arith.addi %2, %arg6 : index
      %c2_0 = arith.constant 2 : index
      %4 = arith.muli %c2_0, %arg5 : index
      %5 = arith.addi %4, %arg7 : index
      %6 = "te.read"(%arg0, %arg2, %arg3, %3, %5) : (tensor<1x2x10x10xf32>, index, index, index, index) -> f32
      "te.yield"(%6) : (f32) -> ()
    }, {
    ^bb0(%arg6: f32, %arg7: f32):
      %2 = arith.maximumf %arg6, %arg7 : f32
      "te.yield"(%2) : (f32) -> ()
    }) {field.axes = [{name = "r"}, {name = "s"}], kind = "max", operandSegmentSizes = array<i32: 4, 1>} : (index, index, index, index, f32) -> f32
    "te.yield"(%1) : (f32) -> ()
  }) {field.axes = [{name = "b"}, {name = "c"}, {name = "i"}, {name = "j"}], label = "pool"} : () -> tensor<1x2x4x4xf32>
  return %0 : tensor<1x2x4x4xf32>
}

// A sum over one axis.
// CHECK-LABEL: func.func @total(
// CHECK-NOT: tensor<{{([0-9]+x){4,}f32}}>
// CHECK: return %{{.*}} : tensor<6x7x8xf32>
func.func @total(%arg0: tensor<6x7x8xf32>, %arg1: tensor<6x8xf32>) -> tensor<6x8xf32> attributes {te.adjoints = {inputs = [0], head = 1}} {
  %c7 = arith.constant 7 : index
  %c0 = arith.constant 0 : index
  %0 = "te.compute"() ({
  ^bb0(%arg2: index, %arg3: index):
    %cst = arith.constant 0.000000e+00 : f32
    %1 = "te.reduce"(%c0, %c7, %cst) ({
    ^bb0(%arg4: index):
      %2 = "te.read"(%arg0, %arg2, %arg4, %arg3) : (tensor<6x7x8xf32>, index, index, index) -> f32
      "te.yield"(%2) : (f32) -> ()
    }, {
    ^bb0(%arg4: f32, %arg5: f32):
      %2 = arith.addf %arg4, %arg5 : f32
      "te.yield"(%2) : (f32) -> ()
    }) {field.axes = [{name = "j"}], kind = "sum", operandSegmentSizes = array<i32: 2, 1>} : (index, index, f32) -> f32
    "te.yield"(%1) : (f32) -> ()
  }) {field.axes = [{name = "a"}, {name = "c"}], label = "compute9"} : () -> tensor<6x8xf32>
  return %0 : tensor<6x8xf32>
}

// A product, which is a recurrence: its states are kept.
// CHECK-LABEL: func.func @product(
// CHECK-NOT: tensor<{{([0-9]+x){4,}f32}}>
// CHECK: return %{{.*}} : tensor<6x7x8xf32>
func.func @product(%arg0: tensor<6x7x8xf32>, %arg1: tensor<6x8xf32>) -> tensor<6x8xf32> attributes {te.adjoints = {inputs = [0], head = 1}} {
  %c7 = arith.constant 7 : index
  %c0 = arith.constant 0 : index
  %0 = "te.compute"() ({
  ^bb0(%arg2: index, %arg3: index):
    %cst = arith.constant 1.000000e+00 : f32
    %1 = "te.reduce"(%c0, %c7, %cst) ({
    ^bb0(%arg4: index):
      %2 = "te.read"(%arg0, %arg2, %arg4, %arg3) : (tensor<6x7x8xf32>, index, index, index) -> f32
      "te.yield"(%2) : (f32) -> ()
    }, {
    ^bb0(%arg4: f32, %arg5: f32):
      %2 = arith.mulf %arg4, %arg5 : f32
      "te.yield"(%2) : (f32) -> ()
    }) {field.axes = [{name = "j"}], kind = "prod", operandSegmentSizes = array<i32: 2, 1>} : (index, index, f32) -> f32
    "te.yield"(%1) : (f32) -> ()
  }) {field.axes = [{name = "a"}, {name = "c"}], label = "compute10"} : () -> tensor<6x8xf32>
  return %0 : tensor<6x8xf32>
}
