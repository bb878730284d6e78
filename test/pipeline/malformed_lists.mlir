// RUN: not mlirad-opt %s --split-input-file 2>&1 | filecheck %s

// CHECK: {{.*}}malformed_lists.mlir:15:{{[0-9]+}}: error: an iterator type 1, expected a string
// CHECK: {{.*}}malformed_lists.mlir:27:{{[0-9]+}}: error: an iterator type true, expected a string
// CHECK: {{.*}}malformed_lists.mlir:37:{{[0-9]+}}: error: dimensions that are not a list of numbers
// CHECK: {{.*}}malformed_lists.mlir:45:{{[0-9]+}}: error: permutation that are not a list of numbers: "a"
// CHECK: {{.*}}malformed_lists.mlir:52:{{[0-9]+}}: error: 0 indexing maps of a product, expected 3
// CHECK: {{.*}}malformed_lists.mlir:60:{{[0-9]+}}: error: an indexing map of a product that has no results
// CHECK: {{.*}}malformed_lists.mlir:69:{{[0-9]+}}: error: an indexing map of a product that has no results
// CHECK-NOT: error
// CHECK: func.func @right

#map = affine_map<(i, j) -> (i, j)>
func.func @iterators(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %r = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", 1]}
      ins(%x : tensor<4x3xf32>) outs(%y : tensor<4x3xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}

// -----

#a = affine_map<(i) -> (i)>
func.func @contract(%x: vector<4xf32>, %s: f32) -> f32 {
  %r = vector.contract {indexing_maps = [#a, #a, affine_map<(i) -> ()>], iterator_types = [true]} %x, %x, %s
      : vector<4xf32>, vector<4xf32> into f32
  return %r : f32
}

// -----

func.func @reduce(%x: tensor<4x3xf32>, %v: tensor<3xf32>) {
  %r = linalg.reduce { arith.addf } ins(%x : tensor<4x3xf32>) outs(%v : tensor<3xf32>) // of rows
    // dimensions = [0]
    dimensions = 0
  return
}

// -----

func.func @transpose(%x: tensor<4x3xf32>, %y: tensor<3x4xf32>) {
  %r = linalg.transpose ins(%x : tensor<4x3xf32>) outs(%y : tensor<3x4xf32>)
    permutation = [1, "a"]
  return
}

// -----

func.func @product(%x: tensor<3x3xf32>) {
  %r = linalg.matmul indexing_maps = [] ins(%x, %x : tensor<3x3xf32>, tensor<3x3xf32>) outs(%x : tensor<3x3xf32>) -> tensor<3x3xf32>
  return
}

// -----

#none = affine_map<(i, j, k) -> ()>
func.func @no_results(%x: tensor<3x3xf32>) {
  %r = linalg.matmul
      indexing_maps = [affine_map<(i, j, k) -> (i, k)>, #none, affine_map<(i, j, k) -> (i, j)>]
      ins(%x, %x : tensor<3x3xf32>, tensor<3x3xf32>) outs(%x : tensor<3x3xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @generic(%x: tensor<3x3xf32>) {
  %r = "linalg.matmul"(%x, %x, %x) <{indexing_maps = [affine_map<(i, j, k) -> ()>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], operandSegmentSizes = array<i32: 2, 1>}> ({
  ^bb0(%a: f32, %b: f32, %c: f32):
    linalg.yield %c : f32
  }) : (tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  return
}

// -----

#way = #linalg.iterator_type<parallel>
#p = affine_map<(i, j, k) -> (i, k)>
#q = affine_map<(i, j, k) -> (k, j)>
#r = affine_map<(i, j, k) -> (i, j)>
func.func @right(%x: tensor<3x3xf32>, %v: tensor<3xf32>, %w: vector<4xf32>, %s: f32) -> f32
    attributes {dimensions = 1 : i32, sizes = {a = 1, permutation = unit}} {
  %a = linalg.matmul indexing_maps = [#p, #q, #r] ins(%x, %x : tensor<3x3xf32>, tensor<3x3xf32>) outs(%x : tensor<3x3xf32>) -> tensor<3x3xf32>
  %b = linalg.matmul ins(%x, %x : tensor<3x3xf32>, tensor<3x3xf32>) outs(%x : tensor<3x3xf32>) -> tensor<3x3xf32>
  %c = linalg.reduce { arith.addf } ins(%x : tensor<3x3xf32>) outs(%v : tensor<3xf32>) dimensions = [ // one
    0x0]
  %d = linalg.broadcast ins(%v : tensor<3xf32>) outs(%x : tensor<3x3xf32>) dimensions=[1]
  %e = "linalg.generic"(%v, %v) <{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = [#way], operandSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%m: f32, %n: f32):
    linalg.yield %m : f32
  }) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %f = vector.contract {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} %w, %w, %s
      : vector<4xf32>, vector<4xf32> into f32
  %g = tensor.empty() : tensor<3xf32>
  %h = linalg.map { math.exp } ins(%v : tensor<3xf32>) outs(%g : tensor<3xf32>)
  return %f : f32
}
