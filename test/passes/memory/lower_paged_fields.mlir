// RUN: mlirad-opt %s --lower-paged-fields | filecheck %s
// RUN: mlirad-opt %s --lower-paged-fields --canonicalize --cse | filecheck %s

// The header comes last, and to kernels that use it alone; %q is not in pages.
// CHECK-LABEL: func.func @f(
// CHECK-SAME: %[[HEADER:[a-z0-9]+]]: !llvm.ptr {field.pages = true})
// CHECK: gpu.launch_func @f_kernels::@f_0 {{.*}} args(%{{[a-z0-9]+}} : !llvm.ptr, %{{[a-z0-9]+}} : !llvm.ptr, %[[HEADER]] : !llvm.ptr)
// CHECK: gpu.launch_func @f_kernels::@f_1 {{.*}} args(%{{[a-z0-9]+}} : !llvm.ptr)
// CHECK-DAG: func.func private @pages.look(
// CHECK-DAG: func.func private @pages.look_again(
// CHECK-DAG: func.func private @pages.reach(
// CHECK-LABEL: gpu.func @f_0(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: !llvm.ptr, %[[P:[a-z0-9]+]]: !llvm.ptr, %[[HEADER:[a-z0-9]+]]: !llvm.ptr)
// CHECK: llvm.ptrtoint %[[P]]
// CHECK: %[[READ:.*]] = func.call @pages.look_again(%[[HEADER]], %{{.*}})
// CHECK: llvm.insertvalue %[[READ]]
// CHECK: %[[VALUE:.*]] = memref.load %{{.*}}[] : memref<f32>
// CHECK: %[[BITS:.*]] = arith.bitcast %[[VALUE]] : f32 to i32
// CHECK: %[[IS_ZERO:.*]] = arith.cmpi eq, %[[BITS]],
// CHECK: %[[WRITTEN:.*]] = func.call @pages.reach(%[[HEADER]], %{{.*}}, %[[IS_ZERO]])
// CHECK: memref.store %[[VALUE]], %{{.*}}[] : memref<f32>
// A sum reads what is there: also that of 0 needs a page.
// CHECK: func.call @pages.reach(%[[HEADER]], %{{.*}}, %false
// CHECK: memref.atomic_rmw addf %[[VALUE]], %{{.*}}[]
// CHECK-LABEL: gpu.func @f_1(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: !llvm.ptr)
// A kernel that takes no pages reads an entry once.
// CHECK-LABEL: gpu.func @f_2(
// CHECK-SAME: %[[P:[a-z0-9]+]]: !llvm.ptr, %[[HEADER:[a-z0-9]+]]: !llvm.ptr)
// CHECK: func.call @pages.look(%[[HEADER]],
module attributes {gpu.container_module} {
  func.func @f(%p: !llvm.ptr {field.symbol = @x, field.paged}, %q: !llvm.ptr {field.symbol = @y}) {
    %c1 = arith.constant 1 : index
    gpu.launch_func @f_kernels::@f_0 blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
      args(%q : !llvm.ptr, %p : !llvm.ptr)
    gpu.launch_func @f_kernels::@f_1 blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
      args(%q : !llvm.ptr)
    gpu.launch_func @f_kernels::@f_2 blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
      args(%p : !llvm.ptr)
    return
  }
  gpu.module @f_kernels {
    gpu.func @f_0(%q: !llvm.ptr, %p: !llvm.ptr) kernel {
      %zero = llvm.mlir.constant(0 : i64) : i64
      %one = llvm.mlir.constant(1 : i64) : i64
      %poison = llvm.mlir.poison : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
      %0 = llvm.insertvalue %p, %poison[0] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
      %1 = llvm.insertvalue %p, %0[1] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
      %2 = llvm.insertvalue %zero, %1[2] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
      %3 = llvm.insertvalue %one, %2[3, 0] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
      %4 = llvm.insertvalue %one, %3[4, 0] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
      %x = builtin.unrealized_conversion_cast %4 : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> to memref<?xf32>
      %thread = gpu.thread_id x
      %value = memref.load %x[%thread] : memref<?xf32>
      memref.store %value, %x[%thread] : memref<?xf32>
      %sum = memref.atomic_rmw addf %value, %x[%thread] : (f32, memref<?xf32>) -> f32
      llvm.store %sum, %q : f32, !llvm.ptr
      gpu.return
    }
    gpu.func @f_1(%q: !llvm.ptr) kernel {
      %unit = llvm.mlir.constant(1.0 : f32) : f32
      llvm.store %unit, %q : f32, !llvm.ptr
      gpu.return
    }
    gpu.func @f_2(%p: !llvm.ptr) kernel {
      %zero = llvm.mlir.constant(0 : i64) : i64
      %one = llvm.mlir.constant(1 : i64) : i64
      %poison = llvm.mlir.poison : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
      %0 = llvm.insertvalue %p, %poison[0] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
      %1 = llvm.insertvalue %p, %0[1] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
      %2 = llvm.insertvalue %zero, %1[2] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
      %3 = llvm.insertvalue %one, %2[3, 0] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
      %4 = llvm.insertvalue %one, %3[4, 0] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
      %x = builtin.unrealized_conversion_cast %4 : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> to memref<?xf32>
      %thread = gpu.thread_id x
      %value = memref.load %x[%thread] : memref<?xf32>
      gpu.printf "%f", %value : f32
      gpu.return
    }
  }
}
