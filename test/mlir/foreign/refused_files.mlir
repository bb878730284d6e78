// RUN: not mlirad-opt %s --irdl-file=%s 2>&1 | filecheck %s --check-prefix=IRDL
// IRDL: refused_files.mlir:{{.*}}: error: 'func.func' in a text of IRDL, expected 'irdl.dialect' only
// RUN: not mlirad-opt %s --irdl-file=%S/nowhere.irdl 2>&1 | filecheck %s --check-prefix=FILE
// FILE: No such file or directory: {{.*}}nowhere.irdl
// RUN: not mlirad-opt %s --rules=%S/sample_rules.py 2>&1 | filecheck %s --check-prefix=DIALECT
// DIALECT: sample_rules.py:{{.*}}: error: 'sample.{{.*}}': there is no dialect 'sample'
// RUN: not mlirad-opt %s --rules=%s 2>&1 | filecheck %s --check-prefix=PYTHON
// PYTHON: is not a Python program, expected the ending .py

func.func @f() {
  return
}
