// RUN: not mlirad-opt %s --cuda-pipeline --emit=ptx --chip=sm_none 2>&1 | filecheck %s

// CHECK: mlirad-opt: error: unknown chip 'sm_none', expected one of sm_
func.func @f() {
  return
}
