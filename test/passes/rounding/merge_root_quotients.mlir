// RUN: mlirad-opt %s --merge-root-quotients --canonicalize | filecheck %s
// RUN: mlirad-opt %s --merge-root-quotients --merge-root-quotients --canonicalize | filecheck %s

// CHECK-LABEL: func.func @two
// CHECK: %[[S:.*]] = math.sqrt
// CHECK: %[[R:.*]] = arith.divf %{{.*}}, %[[S]] : f32
// CHECK: arith.mulf %arg0, %[[R]] fastmath<reassoc,contract> : f32
// CHECK: arith.mulf %arg1, %[[R]] fastmath<reassoc,contract> : f32
// Not one that may be estimated, not one that is exact, and not by another divisor.
// CHECK: arith.divf %arg0, %[[S]] fastmath<reassoc,arcp>
// CHECK: arith.divf %arg1, %[[S]] {field.exact} : f32
// CHECK: arith.divf %arg0, %arg1 fastmath<reassoc> : f32
// CHECK: arith.divf %arg2, %arg1 fastmath<reassoc> : f32
func.func @two(%a: f32, %b: f32, %x: f32) -> (f32, f32, f32, f32, f32, f32) {
  %s = math.sqrt %x : f32
  %0 = arith.divf %a, %s fastmath<reassoc,contract> : f32
  %1 = arith.divf %b, %s fastmath<reassoc,contract> : f32
  %2 = arith.divf %a, %s fastmath<reassoc,arcp> : f32
  %3 = arith.divf %b, %s {field.exact} : f32
  %4 = arith.divf %a, %b fastmath<reassoc> : f32
  %5 = arith.divf %x, %b fastmath<reassoc> : f32
  return %0, %1, %2, %3, %4, %5 : f32, f32, f32, f32, f32, f32
}

// One alone stays; those of two blocks are each alone.
// CHECK-LABEL: func.func @apart
// CHECK: arith.divf %arg0, %{{.*}} fastmath<reassoc> : vector<4xf32>
// CHECK: scf.if
// CHECK: arith.divf %arg1, %{{.*}} fastmath<reassoc> : vector<4xf32>
func.func @apart(%a: vector<4xf32>, %b: vector<4xf32>, %x: vector<4xf32>, %c: i1) -> (vector<4xf32>, vector<4xf32>) {
  %s = math.sqrt %x : vector<4xf32>
  %0 = arith.divf %a, %s fastmath<reassoc> : vector<4xf32>
  %1 = scf.if %c -> vector<4xf32> {
    %2 = arith.divf %b, %s fastmath<reassoc> : vector<4xf32>
    scf.yield %2 : vector<4xf32>
  } else {
    scf.yield %a : vector<4xf32>
  }
  return %0, %1 : vector<4xf32>, vector<4xf32>
}
