// What has no mark is exact: upstream's passes drop marks from the ops that they rewrite.
// RUN: mlirad-opt %s --mark-rounding --math-expand-ops=ops=powf --insert-fast-math | filecheck %s
// RUN: mlirad-opt %s --insert-fast-math | filecheck %s --check-prefix=UNMARKED
// RUN: mlirad-opt %s --differentiate-reverse --insert-fast-math | filecheck %s --check-prefix=REVERSE

snode.root @S0 {
  snode.dense [8] {
    snode.place @x : f32 adjoint(@x.grad)
    snode.place @x.grad : f32
  }
}

// The power feeds a decision: what it is expanded to rounds the same in every mode.
// CHECK-LABEL: func.func @decide
// CHECK-NOT: fastmath
// UNMARKED-LABEL: func.func @decide
// UNMARKED-NOT: fastmath
// REVERSE-LABEL: func.func @decide
// REVERSE: arith.mulf %{{.*}}, %{{.*}} {field.exact}
// REVERSE: arith.cmpf
// REVERSE: fastmath
func.func @decide() {
  %x = field.get @x : !field.array<f32, [8]>
  %i = arith.constant 0 : index
  %limit = arith.constant 2.0 : f32
  %v = field.load %x[%i] : f32
  %power = math.powf %v, %limit : f32
  %product = arith.mulf %power, %v : f32
  %above = arith.cmpf ogt, %product, %limit : f32
  scf.if %above {
    field.store %product, %x[%i]
  }
  return
}
