// RUN: mlirad-opt %s --split-window-loops --canonicalize --cse | filecheck %s
// RUN: mlirad-opt %s --split-window-loops --split-window-loops --canonicalize --cse | filecheck %s

// The gradient of a convolution with stride 2 and three weights, at i: even elements get two products
// of each channel, one of which is out of bounds at either end; odd ones one.
// CHECK-LABEL: func.func @strided(
// CHECK: scf.for %[[Q:.*]] = %c0 to %c5 step %c1 {
// CHECK:   %[[TWICE:.*]] = arith.muli %[[Q]], %c2
// CHECK:   scf.for %{{.*}} = %c0 to %c16 step %c1 iter_args
// CHECK:     %[[BEFORE:.*]] = arith.addi %[[Q]], %c-1
// CHECK:     arith.cmpi sge, %[[BEFORE]], %c0
// CHECK:     scf.if %{{.*}} -> (f32) {
// CHECK:       memref.load %arg1[%{{.*}}, %[[BEFORE]]]
// CHECK:     scf.if %{{.*}} -> (f32) {
// CHECK:       memref.load %arg1[%{{.*}}, %[[Q]]]
// CHECK:   memref.store %{{.*}}, %arg2[%[[TWICE]]]
// CHECK: } {field.any_order}
// CHECK: scf.for %[[Q2:.*]] = %c0 to %c4 step %c1 {
// CHECK-NOT: scf.if
// CHECK: memref.load %arg1[%{{.*}}, %[[Q2]]]
// CHECK: return
func.func @strided(%w: memref<16x3xf32>, %head: memref<16x4xf32>, %dx: memref<9xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %cm2 = arith.constant -2 : index
  %c4 = arith.constant 4 : index
  %c9 = arith.constant 9 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c9 step %c1 {
    %less = arith.addi %i, %cm2 : index
    %up = arith.ceildivsi %less, %c2 : index
    %low = arith.maxsi %up, %c0 : index
    %more = arith.addi %i, %c2 : index
    %down = arith.floordivsi %more, %c2 : index
    %high = arith.minsi %down, %c4 : index
    %sum = scf.for %c = %c0 to %c16 step %c1 iter_args(%outer = %zero) -> (f32) {
      %inner = scf.for %k = %low to %high step %c1 iter_args(%so_far = %outer) -> (f32) {
        %back = arith.muli %k, %cm2 : index
        %r = arith.addi %i, %back : index
        %a = memref.load %w[%c, %r] : memref<16x3xf32>
        %b = memref.load %head[%c, %k] : memref<16x4xf32>
        %ab = arith.mulf %a, %b : f32
        %new = arith.addf %so_far, %ab : f32
        scf.yield %new : f32
      }
      scf.yield %inner : f32
    }
    memref.store %sum, %dx[%i] : memref<9xf32>
  } {field.any_order}
  return
}

// The weights' gradient of a padded convolution: the loop over weights, whose index bounds the sum,
// goes around the one over channels, and bounds are made between them.
// CHECK-LABEL: func.func @padded(
// CHECK: scf.for %[[R:.*]] = %c0 to %c3 step %c1 {
// CHECK: %[[LOW:.*]] = arith.maxsi
// CHECK: %[[HIGH:.*]] = arith.minsi
// CHECK: scf.for %[[C:.*]] = %c0 to %c9 step %c1 {
// CHECK: scf.for %{{.*}} = %[[LOW]] to %[[HIGH]] step %c1 iter_args
// CHECK: memref.store %{{.*}}, %arg2[%[[C]], %[[R]]]
// CHECK: } {field.any_order}
// CHECK: } {field.any_order}
func.func @padded(%x: memref<9x8xf32>, %head: memref<8xf32>, %dw: memref<9x3xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  %c9 = arith.constant 9 : index
  scf.for %c = %c0 to %c9 step %c1 {
    scf.for %r = %c0 to %c3 step %c1 {
      %first = arith.subi %c1, %r : index
      %low = arith.maxsi %first, %c0 : index
      %last = arith.subi %c9, %r : index
      %high = arith.minsi %last, %c8 : index
      %sum = scf.for %i = %low to %high step %c1 iter_args(%so_far = %zero) -> (f32) {
        %at = arith.addi %i, %r : index
        %before = arith.subi %at, %c1 : index
        %a = memref.load %x[%c, %before] : memref<9x8xf32>
        %b = memref.load %head[%i] : memref<8xf32>
        %ab = arith.mulf %a, %b : f32
        %new = arith.addf %so_far, %ab : f32
        scf.yield %new : f32
      }
      memref.store %sum, %dw[%c, %r] : memref<9x3xf32>
    } {field.any_order}
  } {field.any_order}
  return
}

// A loop that may have to be in order stays one, and so does a stride of 5; what nothing is added up
// in stays as it is.
// CHECK-LABEL: func.func @in_order(
// CHECK: arith.floordivsi
// CHECK-LABEL: func.func @far(
// CHECK: arith.floordivsi
// CHECK-LABEL: func.func @no_sum(
// CHECK: arith.floordivsi
func.func @in_order(%n: index, %x: memref<?xf32>, %y: memref<?xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  scf.for %i = %c0 to %n step %c1 {
    %half = arith.floordivsi %i, %c2 : index
    %sum = scf.for %k = %c0 to %half step %c1 iter_args(%so_far = %zero) -> (f32) {
      %a = memref.load %x[%k] : memref<?xf32>
      %ab = arith.mulf %a, %a : f32
      %new = arith.addf %so_far, %ab : f32
      scf.yield %new : f32
    }
    memref.store %sum, %y[%i] : memref<?xf32>
  }
  return
}

func.func @far(%n: index, %x: memref<?xf32>, %y: memref<?xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  scf.for %i = %c0 to %n step %c1 {
    %part = arith.floordivsi %i, %c5 : index
    %sum = scf.for %k = %c0 to %part step %c1 iter_args(%so_far = %zero) -> (f32) {
      %a = memref.load %x[%k] : memref<?xf32>
      %ab = arith.mulf %a, %a : f32
      %new = arith.addf %so_far, %ab : f32
      scf.yield %new : f32
    }
    memref.store %sum, %y[%i] : memref<?xf32>
  } {field.any_order}
  return
}

func.func @no_sum(%n: index, %x: memref<?xf32>) {
  %one = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  scf.for %i = %c0 to %n step %c1 {
    %half = arith.floordivsi %i, %c2 : index
    scf.for %k = %c0 to %half step %c1 {
      %at = arith.addi %i, %k : index
      memref.store %one, %x[%at] : memref<?xf32>
    }
  } {field.any_order}
  return
}

// Four heads by three weights: of the window that moves and the one that does not the shorter one is written out.
// CHECK-LABEL: func.func @few_weights(
// CHECK: scf.for %[[I:.*]] = %c0 to %c6 step %c1 {
// CHECK:   scf.for %[[C:.*]] = %c0 to %c16 step %c1 iter_args
// CHECK-DAG: memref.load %arg0[%[[C]], %c0]
// CHECK-DAG: memref.load %arg0[%[[C]], %c1]
// CHECK-DAG: memref.load %arg0[%[[C]], %c2]
// CHECK-NOT: memref.load %arg0
// CHECK: return
func.func @few_weights(%w: memref<16x3xf32>, %head: memref<16x4xf32>, %dx: memref<6xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %cm3 = arith.constant -3 : index
  %c6 = arith.constant 6 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c6 step %c1 {
    %less = arith.addi %i, %cm3 : index
    %low = arith.maxsi %less, %c0 : index
    %more = arith.addi %i, %c1 : index
    %high = arith.minsi %more, %c3 : index
    %sum = scf.for %c = %c0 to %c16 step %c1 iter_args(%outer = %zero) -> (f32) {
      %inner = scf.for %r = %low to %high step %c1 iter_args(%so_far = %outer) -> (f32) {
        %at = arith.subi %i, %r : index
        %a = memref.load %w[%c, %r] : memref<16x3xf32>
        %b = memref.load %head[%c, %at] : memref<16x4xf32>
        %p = arith.mulf %a, %b : f32
        %s = arith.addf %so_far, %p : f32
        scf.yield %s : f32
      }
      scf.yield %inner : f32
    }
    memref.store %sum, %dx[%i] : memref<6xf32>
  } {field.any_order}
  return
}
