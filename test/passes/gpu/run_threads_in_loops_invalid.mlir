// RUN: mlirad-opt %s --run-threads-in-loops --split-input-file --verify-diagnostics

module attributes {gpu.container_module} {
  func.func @shared() {
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : i32
    // expected-error @below {{a launch with a stream, clusters or memory whose size it gives}}
    gpu.launch_func @m::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
      dynamic_shared_memory_size %c64
    return
  }
  gpu.module @m {
    gpu.func @f() kernel {
      gpu.return
    }
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @m {
    gpu.func @f() kernel {
      // expected-error @below {{'gpu.lane_id' cannot be run on a CPU}}
      %lane = gpu.lane_id
      gpu.return
    }
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @m {
    gpu.func @f(%n: index) kernel {
      // expected-error @below {{memory of a thread whose size is known only when it runs}}
      %own = memref.alloca(%n) : memref<?xf32>
      gpu.return
    }
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @m {
    // expected-error @below {{a kernel of several blocks, expected structured control flow}}
    gpu.func @f() kernel {
      cf.br ^next
    ^next:
      gpu.return
    }
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @m {
    gpu.func @f(%n: index) kernel {
      %i = gpu.thread_id x
      %in = arith.cmpi ult, %i, %n : index
      // expected-error @below {{threads wait for one another within this 'scf.if', which depends on 'gpu.thread_id'}}
      scf.if %in {
        gpu.barrier
      }
      gpu.return
    }
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @m {
    gpu.func @f(%n: index) kernel {
      %c1 = arith.constant 1 : index
      // expected-error @below {{threads wait for one another within 'scf.parallel'}}
      scf.parallel (%i) = (%c1) to (%n) step (%c1) {
        gpu.barrier
      }
      gpu.return
    }
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @m {
    gpu.func @f(%p: memref<2xf32>, %q: memref<2xf32>, %x: memref<2xi1>) kernel {
      %i = gpu.thread_id x
      %c0 = arith.constant 0 : index
      %f = arith.constant 0.0 : f32
      %which = memref.load %x[%i] : memref<2xi1>
      // expected-error @below {{what 'scf.if' makes, kept while threads wait for one another}}
      %r = scf.if %which -> memref<2xf32> {
        scf.yield %p : memref<2xf32>
      } else {
        scf.yield %q : memref<2xf32>
      }
      gpu.barrier
      memref.store %f, %r[%c0] : memref<2xf32>
      gpu.return
    }
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @m {
    // expected-error @below {{'arith.constant' in GPU code, expected functions}}
    %c0 = arith.constant 0 : index
  }
}
