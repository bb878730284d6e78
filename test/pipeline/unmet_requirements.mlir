// RUN: mlirad-opt %s --split-input-file --verify-diagnostics --mark-needed --keep-launch=number=2 --split-parallel-loops --mark-kernel-arguments

func.func @no_loop(%x: !field.array<f32, []>, %v: f32) {  // expected-error {{a function of 1 launches has none of number 2}}
  "field.store"(%v, %x) : (f32, !field.array<f32, []>) -> ()
  return
}

// -----

func.func @launch(%x: !field.array<f32, [4]>) {
  %one = arith.constant 1 : index
  // expected-error @below {{'gpu.launch' within a function, expected loops and branches of 'scf' only}}
  gpu.launch blocks(%a, %b, %c) in (%d = %one, %e = %one, %f = %one)
             threads(%g, %h, %i) in (%j = %one, %k = %one, %l = %one) {
    %v = "field.load"(%x, %g) : (!field.array<f32, [4]>, index) -> f32
    gpu.terminator
  }
  return
}

// -----

// expected-error @below {{'func.func' holds 2 blocks, expected structured control flow: run lift-cf-to-scf first}}
func.func @blocks() {
  cf.br ^bb1
^bb1:
  return
}

// -----

func.func @parallel() {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  scf.parallel (%i) = (%zero) to (%one) step (%one) {
    // expected-error @below {{a parallel loop within another}}
    scf.parallel (%j) = (%zero) to (%one) step (%one) {
    }
  }
  return
}

// -----

func.func @axis() {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  // expected-error @below {{'field.axis' is 7 : i64, expected an axis of the loop, 0 to 0}}
  scf.parallel (%i) = (%zero) to (%one) step (%one) {
  } {field.axis = 7 : i64}
  return
}

// -----

// expected-error @below {{'grad.redone' names 3 : i64, expected fields and numbers of arguments}}
func.func @redone(%x: !field.array<f32, [4]>) attributes {grad.redone = [@x, 3]} {
  return
}

// -----

func.func @either(%c: i1, %x: !field.array<f32, []>, %y: !field.array<f32, []>) {
  // expected-error @below {{an array that 'arith.select' makes, expected fields, locals and arguments of functions}}
  %z = arith.select %c, %x, %y : !field.array<f32, []>
  return
}

// -----

module attributes {gpu.container_module} {
  func.func private @launches(%p: !llvm.ptr) {
    %one = arith.constant 1 : index
    // expected-error @below {{a launch of something that is not a 'gpu.func' here: run gpu-kernel-outlining first}}
    gpu.launch_func @k::@g blocks in (%one, %one, %one) threads in (%one, %one, %one) args(%p : !llvm.ptr)
    return
  }
  gpu.module @k {
    llvm.func @g(%p: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel} {
      llvm.return
    }
  }
}

// -----

func.func @standing(%end: index) {
  %zero = arith.constant 0 : index
  // expected-error @below {{a loop with steps of 0, expected at least 1}}
  scf.for %i = %zero to %end step %zero {
  }
  return
}

// -----

func.func @overflowing(%x: !field.array<f32, [4]>) {
  %low = arith.constant 9223372036854775800 : index
  %high = arith.constant 9223372036854775807 : index
  %step = arith.constant 5 : index
  // expected-error @below {{a loop whose index overflows: its last step leads to 9223372036854775810}}
  scf.for %i = %low to %high step %step {
  }
  return
}

// -----

func.func @falling(%end: index) {
  %zero = arith.constant 0 : index
  %step = arith.constant -2 : index
  // expected-error @below {{a loop with steps of -2, expected at least 1}}
  scf.for %i = %zero to %end step %step {
  }
  return
}

// -----

// expected-error @below {{argument 1 is a '!field.array<i32, [4]>' marked 'field.needs_grad', expected an array of floats}}
func.func @gradient_of_integers(%x: !field.array<f32, [4]> {field.needs_grad}, %y: !field.array<i32, [4]> {field.needs_grad}) {
  return
}
