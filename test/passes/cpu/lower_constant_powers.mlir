// RUN: mlirad-opt %s --lower-constant-powers | filecheck %s
// RUN: mlirad-opt %s --lower-constant-powers --lower-constant-powers | filecheck %s

// CHECK-LABEL: func.func @cube
// CHECK: %[[S:.*]] = arith.mulf %[[X:.*]], %[[X]] {field.exact} : f32
// CHECK-NEXT: %[[C:.*]] = arith.mulf %[[S]], %[[X]] {field.exact} : f32
// CHECK-NEXT: return %[[C]]
func.func @cube(%x: f32) -> f32 {
  %c = arith.constant 3.0 : f32
  %0 = math.powf %x, %c {field.exact} : f32
  return %0 : f32
}

// CHECK-LABEL: func.func @fourth
// CHECK: %[[S:.*]] = arith.mulf %[[X:.*]], %[[X]] {field.loose} : f64
// CHECK-NEXT: arith.mulf %[[S]], %[[S]] {field.loose} : f64
func.func @fourth(%x: f64) -> f64 {
  %c = arith.constant 4.0 : f64
  %0 = math.powf %x, %c {field.loose} : f64
  return %0 : f64
}

// CHECK-LABEL: func.func @reciprocal_of_a_root
// CHECK: %[[R:.*]] = math.sqrt %[[X:.*]] : vector<8xf32>
// CHECK: %[[P:.*]] = arith.mulf %[[X]], %[[R]] : vector<8xf32>
// CHECK: arith.divf %{{.*}}, %[[P]] : vector<8xf32>
func.func @reciprocal_of_a_root(%x: vector<8xf32>) -> vector<8xf32> {
  %c = arith.constant dense<-1.5> : vector<8xf32>
  %0 = math.powf %x, %c : vector<8xf32>
  return %0 : vector<8xf32>
}

// LLVM knows 0.5; large exponents are C's.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-4: math.powf
func.func @others(%x: f32, %y: f32) -> (f32, f32, f32, f32) {
  %a = arith.constant 0.5 : f32
  %b = arith.constant 12.0 : f32
  %c = arith.constant 1.7 : f32
  %0 = math.powf %x, %a : f32
  %1 = math.powf %x, %b : f32
  %2 = math.powf %x, %c : f32
  %3 = math.powf %x, %y : f32
  return %0, %1, %2, %3 : f32, f32, f32, f32
}
