// RUN: not mlirad-opt %s -p "builtin.module(cse" 2>&1 | filecheck %s --check-prefix=OPEN
// RUN: not mlirad-opt %s -p "builtin.module(hoist-loads,no-such-pass)" 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not mlirad-opt %s --hoist-loads --mark-private-updates=threads=two 2>&1 | filecheck %s --check-prefix=VALUE
// RUN: not mlirad-opt %s --cpu-pipeline=thread=2 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: not mlirad-opt %s --check-access-rules=rules=hope 2>&1 | filecheck %s --check-prefix=CHOICE

// OPEN: mlirad-opt: error: pipeline, character 19: expected ',' or ')' in 'builtin.module(cse'
// UNKNOWN: mlirad-opt: error: 'no-such-pass' does not refer to a registered pass or pass pipeline
// VALUE: mlirad-opt: error: option 'threads' of 'mark-private-updates' has values of type int, not 'two'
// OPTION: mlirad-opt: error: 'cpu-pipeline' has no option 'thread' (options: reverse, tangents,
// CHOICE: mlirad-opt: error: option 'rules' of 'check-access-rules' is one of save, refuse, not 'hope'
func.func @f() {
  return
}
