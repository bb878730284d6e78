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

// The steps of a field over time, of which the function is given the last: slabs of 100 elements.
// CHECK-LABEL: llvm.func @steps
// CHECK: llvm.load {{.*}} {alias_scopes = [#[[T1:.*]]], noalias_scopes = [#[[T:.*]]]}
// CHECK: llvm.load {{.*}} {alias_scopes = [#[[T1]]], noalias_scopes = [#[[T]]]}
// CHECK: llvm.store {{.*}} {alias_scopes = [#[[T]]], noalias_scopes = [#[[T1]]]}
// Those that a loop counts differ from one iteration to the next.
// CHECK: llvm.load %{{[0-9]+}} : !llvm.ptr -> f32
llvm.func @steps(%p: !llvm.ptr {llvm.noalias, field.slab = 100 : i64}, %t: i32, %i: i64) {
  %one = llvm.mlir.constant(1 : i32) : i32
  %long = llvm.mlir.constant(1 : i64) : i64
  %hundred = llvm.mlir.constant(100 : i64) : i64
  %before = llvm.sub %t, %one : i32
  %t1 = llvm.sext %before : i32 to i64
  %t0 = llvm.sext %t : i32 to i64
  %old = llvm.mul %t1, %hundred : i64
  %new = llvm.mul %t0, %hundred : i64
  %left = llvm.sub %i, %long : i64
  %a = llvm.add %old, %i : i64
  %b = llvm.add %old, %left : i64
  %c = llvm.add %new, %i : i64
  %pa = llvm.getelementptr %p[%a] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %pb = llvm.getelementptr %p[%b] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %pc = llvm.getelementptr %p[%c] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %u = llvm.load %pa : !llvm.ptr -> f32
  %v = llvm.load %pb : !llvm.ptr -> f32
  %w = llvm.fadd %u, %v : f32
  llvm.store %w, %pc : f32, !llvm.ptr
  llvm.br ^next(%t0 : i64)
^next(%s: i64):
  %row = llvm.mul %s, %hundred : i64
  %d = llvm.add %row, %i : i64
  %pd = llvm.getelementptr %p[%d] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %x = llvm.load %pd : !llvm.ptr -> f32
  %s1 = llvm.add %s, %long : i64
  %more = llvm.icmp "slt" %s1, %hundred : i64
  llvm.cond_br %more, ^next(%s1 : i64), ^end
^end:
  llvm.return
}

// What a loop calls is given another number each time.
// CHECK-LABEL: llvm.func @called_again
// CHECK-NOT: alias_scopes
llvm.func @called_again(%p: !llvm.ptr {llvm.noalias, field.slab = 100 : i64}, %t: i64) {
  %one = llvm.mlir.constant(1 : i64) : i64
  %hundred = llvm.mlir.constant(100 : i64) : i64
  %before = llvm.sub %t, %one : i64
  %old = llvm.mul %before, %hundred : i64
  %new = llvm.mul %t, %hundred : i64
  %pa = llvm.getelementptr %p[%old] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %pb = llvm.getelementptr %p[%new] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %u = llvm.load %pa : !llvm.ptr -> f32
  llvm.store %u, %pb : f32, !llvm.ptr
  llvm.return
}
llvm.func @calls(%p: !llvm.ptr, %n: i64) {
  %one = llvm.mlir.constant(1 : i64) : i64
  llvm.br ^next(%one : i64)
^next(%t: i64):
  llvm.call @called_again(%p, %t) : (!llvm.ptr, i64) -> ()
  %t1 = llvm.add %t, %one : i64
  %more = llvm.icmp "slt" %t1, %n : i64
  llvm.cond_br %more, ^next(%t1 : i64), ^end
^end:
  llvm.return
}
