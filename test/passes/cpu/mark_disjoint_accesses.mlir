// RUN: mlirad-opt %s --mark-disjoint-accesses | filecheck %s
// RUN: mlirad-opt %s --mark-disjoint-accesses --mark-disjoint-accesses | filecheck %s

// The components of a field of two-component vectors: whatever i and t are, offsets 2 i + 100 t and 2 i + 100 t + 1 differ.
// CHECK-DAG: #[[A:.*]] = #llvm.alias_scope<id = "components.0.0", domain = #{{.*}}>
// CHECK-DAG: #[[B:.*]] = #llvm.alias_scope<id = "components.0.1", domain = #{{.*}}>

// CHECK-LABEL: llvm.func @components
llvm.func @components(%p: !llvm.ptr {llvm.noalias}, %i: i64, %t: i64) {
  %two = llvm.mlir.constant(2 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %hundred = llvm.mlir.constant(100 : i64) : i64
  %row = llvm.mul %t, %hundred : i64
  %cell = llvm.mul %i, %two : i64
  %first = llvm.add %row, %cell : i64
  %second = llvm.add %first, %one : i64
  %a = llvm.getelementptr inbounds %p[%first] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %b = llvm.getelementptr inbounds %p[%second] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  // CHECK: llvm.load {{.*}} {alias_scopes = [#[[A]]], noalias_scopes = [#[[B]]]}
  %v = llvm.load %a : !llvm.ptr -> f32
  // CHECK: llvm.store {{.*}} {alias_scopes = [#[[B]]], noalias_scopes = [#[[A]]]}
  llvm.store %v, %b : f32, !llvm.ptr
  // An index of which nothing is known: it may be either.
  %c = llvm.getelementptr inbounds %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  // CHECK: llvm.load %{{[0-9]+}} : !llvm.ptr -> f32
  %w = llvm.load %c : !llvm.ptr -> f32
  // Other bits of the same memory.
  // CHECK: llvm.load %{{[0-9]+}} : !llvm.ptr -> i64
  %x = llvm.load %a : !llvm.ptr -> i64
  llvm.return
}

// Strides of 2 and 3 have no common divisor.
// CHECK-LABEL: llvm.func @no_classes
// CHECK-NOT: alias_scopes
llvm.func @no_classes(%p: !llvm.ptr, %i: i64) {
  %two = llvm.mlir.constant(2 : i64) : i64
  %three = llvm.mlir.constant(3 : i64) : i64
  %even = llvm.mul %i, %two : i64
  %odd = llvm.mul %i, %three : i64
  %a = llvm.getelementptr inbounds %p[%even] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %b = llvm.getelementptr inbounds %p[%odd] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %v = llvm.load %a : !llvm.ptr -> f32
  llvm.store %v, %b : f32, !llvm.ptr
  llvm.return
}
