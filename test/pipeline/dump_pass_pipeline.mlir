// RUN: mlirad-opt %s --dump-pass-pipeline --canonicalize=top-down=false --lower-parallel-to-gpu -o /dev/null 2>&1 | filecheck %s
// RUN: mlirad-opt %s --mlir-timing --cse --hoist-loads -o /dev/null 2>&1 | filecheck %s --check-prefix=TIMING
// RUN: mlirad-opt --version | filecheck %s --check-prefix=VERSION
// RUN: mlirad-opt --show-dialects | filecheck %s --check-prefix=DIALECTS

// CHECK: builtin.module(canonicalize{{{.*}} top-down=false},lower-parallel-to-gpu{block_dim=128})
// TIMING: Execution time report
// TIMING: Parser
// TIMING: cse
// TIMING: hoist-loads
// TIMING: Total
// VERSION: mlirad-opt {{[0-9.]+}}, with MLIR from
// DIALECTS: Available Dialects: {{.*}},arith,{{.*}},field,func,{{.*}},grad,{{.*}},snode,
func.func @f() {
  return
}
