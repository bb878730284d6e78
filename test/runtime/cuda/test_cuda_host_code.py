"""The host's code of kernels on a GPU: memory that it allocates, sizes that it reads."""

from __future__ import annotations

import pytest
from runtime.cuda.machine import StubbedExecutor
from runtime.cuda.stub import Stub

import mlirad as ti
from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.ir.signature import signature_of
from mlirad.runtime.config import Config
from mlirad.runtime.cuda.constants import CUresult
from mlirad.runtime.cuda.cuda_driver import CudaDriver
from mlirad.runtime.executor.executor import Addressable, Code, LoweredKernel
from mlirad.runtime.memory.deferred_writes import Backlog
from mlirad.types import i64

# A kernel counts, the host reads, and allocates as much for the next ones: the sum of 0 .. n-1.
SOURCE = """
module attributes {gpu.container_module} {
  func.func @count(%n: i64 {field.argument = 0}, %result: !llvm.ptr {field.result = 0})
      attributes {llvm.emit_c_interface} {
    %one = arith.constant 1 : index
    %first = arith.constant 0 : index
    %counted = gpu.alloc () : memref<1xi64>
    gpu.launch_func @count_kernels::@count_0 blocks in (%one, %one, %one)
      threads in (%one, %one, %one) args(%n : i64, %counted : memref<1xi64>)
    %here = memref.alloca() : memref<1xi64>
    gpu.memcpy %here, %counted : memref<1xi64>, memref<1xi64>
    %size = memref.load %here[%first] : memref<1xi64>
    %extent = arith.index_cast %size : i64 to index
    %room = gpu.alloc (%extent) : memref<?x2xi64>
    gpu.launch_func @count_kernels::@count_1 blocks in (%one, %one, %one)
      threads in (%extent, %one, %one) args(%room : memref<?x2xi64>)
    gpu.launch_func @count_kernels::@count_2 blocks in (%one, %one, %one)
      threads in (%one, %one, %one)
      args(%room : memref<?x2xi64>, %extent : index, %result : !llvm.ptr)
    gpu.dealloc %room : memref<?x2xi64>
    gpu.dealloc %counted : memref<1xi64>
    return
  }
  gpu.module @count_kernels {
    gpu.func @count_0(%n: i64, %counted: memref<1xi64>) kernel {
      %first = arith.constant 0 : index
      memref.store %n, %counted[%first] : memref<1xi64>
      gpu.return
    }
    gpu.func @count_1(%room: memref<?x2xi64>) kernel {
      %second = arith.constant 1 : index
      %i = gpu.thread_id x
      %word = arith.index_cast %i : index to i64
      memref.store %word, %room[%i, %second] : memref<?x2xi64>
      gpu.return
    }
    gpu.func @count_2(%room: memref<?x2xi64>, %extent: index, %result: !llvm.ptr) kernel {
      %zero = arith.constant 0 : i64
      %first = arith.constant 0 : index
      %second = arith.constant 1 : index
      %sum = scf.for %i = %first to %extent step %second iter_args(%so_far = %zero) -> (i64) {
        %word = memref.load %room[%i, %second] : memref<?x2xi64>
        %more = arith.addi %so_far, %word : i64
        scf.yield %more : i64
      }
      llvm.store %sum, %result : i64, !llvm.ptr
      gpu.return
    }
  }
}
"""
ROOM = {True: ("cuMemAllocAsync", "cuMemFreeAsync"), False: ("cuMemAlloc_v2", "cuMemFree_v2")}


class _Nothing:
    """No memory besides."""

    def field(self, symbol: str) -> Addressable:
        raise AssertionError(symbol)

    backlog = Backlog()

    def deferred_writes(self, symbol: str) -> None:
        raise AssertionError(symbol)

    def check_bits(self, symbol: str) -> Addressable:
        raise AssertionError(symbol)


def compiled(stub: Stub) -> tuple[StubbedExecutor, Code]:
    """The kernel on a stub."""
    executor = StubbedExecutor(stub, CudaDriver(stub.functions()))
    with context(), ir.Location.file("count.py", 3, 5):
        module = ir.Module.parse(SOURCE)
        signature = signature_of(module.operation, "count")
        lowered = LoweredKernel(lambda: module, "count", signature, results=[i64])
        return executor, executor.compile(lowered, _Nothing(), Config())


@pytest.mark.parametrize("pools", [True, False])
def test_memory_of_a_size_that_a_kernel_counts(pools: bool) -> None:
    """In the order of launches, where the device can, and all of it is freed."""
    stub = Stub(pools=pools)
    executor, code = compiled(stub)
    before = stub.allocations
    assert [code.launch([n]) for n in (5, 1000, 2)] == [(10,), (499500,), (1,)]
    stub.log.clear()
    code.launch([3])
    allocate, free = ROOM[pools]
    wanted = [allocate, free, "cuLaunchKernel", "cuMemcpyDtoHAsync_v2", "cuStreamSynchronize"]
    assert [name for name in stub.log if name in wanted] == [
        allocate,
        "cuLaunchKernel",
        "cuMemcpyDtoHAsync_v2",
        "cuStreamSynchronize",
        allocate,
        "cuLaunchKernel",
        "cuLaunchKernel",
        free,
        free,
        "cuStreamSynchronize",
    ]
    executor.synchronize()
    assert stub.allocations == before and stub.mistakes == []


def test_no_room_for_what_was_counted() -> None:
    """It is said how much, what was allocated is freed, and the next call runs."""
    stub = Stub(total=1 << 13)
    executor, code = compiled(stub)
    with pytest.raises(
        ti.TaichiMemoryError,
        match=r"16000 bytes that kernel 'count' needs .* a stub: .*the program can continue",
    ):
        code.launch([1000])
    executor.synchronize()
    assert stub.blocks == {}
    assert code.launch([5]) == (10,)


@pytest.mark.parametrize(
    ("function", "doing"),
    [
        ("cuMemcpyDtoHAsync_v2", "read the sizes that kernel 'count' counted"),
        ("cuModuleGetFunction", "find a loop of kernel 'count'"),
        ("cuMemFreeAsync", "free memory of kernel 'count'"),
    ],
)
def test_what_failed_is_said(function: str, doing: str) -> None:
    """By what the call was for."""
    stub = Stub()
    _, code = compiled(stub)
    stub.fail(function, CUresult.CUDA_ERROR_INVALID_VALUE)
    with pytest.raises(ti.TaichiRuntimeError, match=rf"could not {doing}: .*INVALID_VALUE"):
        code.launch([5])
    assert code.launch([5]) == (10,)
