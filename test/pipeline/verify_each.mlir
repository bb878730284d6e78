// RUN: mlirad-opt %s --verify-each=false --lower-field-to-memref -o /dev/null
// RUN: mlirad-opt %s --verify-each --cse | filecheck %s

// CHECK: func.func @f
func.func @f() {
  return
}
