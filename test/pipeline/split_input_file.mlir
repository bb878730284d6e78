// RUN: mlirad-opt %s --split-input-file --cse | filecheck %s

// CHECK-LABEL: func.func private @same_name(f32)
func.func private @same_name(f32)

// -----

// CHECK: // -----
// CHECK-LABEL: func.func private @same_name(f64)
func.func private @same_name(f64)
