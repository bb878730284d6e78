"""Reductions of blocks as waves of AMD's GPUs do them, run thread by thread by a CPU: shuffles in
groups of 32, a missing thread left out, shared memory between groups."""

import ctypes
from collections.abc import Callable

import numpy as np
import pytest

from mlirad.bindings import ExecutionEngine, ir
from mlirad.dialect import context
from mlirad.pipeline.runner import run_pipeline
from mlirad.pipeline.stages.cpu import target_stage

Array = np.ndarray
ORDERS = ("ascending", "descending", "shuffled")
LENGTHS = (1, 5, 32, 33, 64, 70, 96, 128, 1000, 1024)
BLOCKS = (*((length, 1, 1) for length in LENGTHS), (3, 5, 7), (32, 8, 1))
KINDS: dict[str, tuple[str, Callable[[Array], object]]] = {
    "add": ("f32", np.sum),
    "mul": ("f64", np.prod),
    "minnumf": ("f32", np.min),
    "maxnumf": ("f64", np.max),
    "maxsi": ("i32", np.max),
    "xor": ("i64", np.bitwise_xor.reduce),
}
BLOCK_COUNT = 2


def run(block: tuple[int, int, int], body: str, array: Array, type_: str, order: str) -> None:
    """Run a kernel in blocks, `%t` being the number of a thread of all, `%a` the array."""
    sizes = [f"%s{i} = arith.constant {n} : index" for i, n in enumerate((BLOCK_COUNT, 1, *block))]
    text = f"""
    func.func @launch(%a: memref<?x{type_}>) attributes {{llvm.emit_c_interface}} {{
      {chr(10).join(sizes)}
      gpu.launch blocks(%bx, %by, %bz) in (%gx = %s0, %gy = %s1, %gz = %s1)
          threads(%tx, %ty, %tz) in (%nx = %s2, %ny = %s3, %nz = %s4) {{
        %row = arith.muli %tz, %ny : index
        %y = arith.addi %row, %ty : index
        %before = arith.muli %y, %nx : index
        %own = arith.addi %before, %tx : index
        %many = arith.constant {np.prod(block)} : index
        %first = arith.muli %bx, %many : index
        %t = arith.addi %first, %own : index
        {body}
        gpu.terminator
      }}
      return
    }}"""
    target = target_stage()
    passes = "gpu-kernel-outlining,lower-block-reductions,run-threads-in-loops"
    with context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        run_pipeline(module.operation, f"builtin.module({passes}{{order={order}}},{target.passes})")
        engine = ExecutionEngine(module, opt_level=1)
        address = array.ctypes.data
        descriptor = (ctypes.c_int64 * 5)(address, address, 0, array.size, 1)
        pointer = ctypes.pointer(ctypes.pointer(descriptor))
        engine.invoke("launch", pointer)


def numbers(block: tuple[int, int, int], type_: str) -> Array:
    """A value for each thread: products stay small, sums are exact."""
    count = BLOCK_COUNT * int(np.prod(block))
    kinds = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64}
    values = np.random.default_rng(count).integers(-9, 9, count)
    if type_ == "f64":
        values = np.where(values % 2 == 0, -1, 1)
    return values.astype(kinds[type_])


def check(block: tuple[int, int, int], kind: str, order: str) -> None:
    """Reduce what the threads of two blocks have, and compare with NumPy."""
    type_, combine = KINDS[kind]
    array = numbers(block, type_)
    expected = [combine(row) for row in array.reshape(BLOCK_COUNT, -1)]
    body = f"""
    %value = memref.load %a[%t] : memref<?x{type_}>
    %all = gpu.all_reduce {kind} %value uniform {{}} : ({type_}) -> {type_}
    memref.store %all, %a[%t] : memref<?x{type_}>
    """
    run(block, body, array, type_, order)
    np.testing.assert_array_equal(array, np.repeat(expected, array.size // BLOCK_COUNT))


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_every_thread_gets_the_result(block: tuple[int, int, int]) -> None:
    """In blocks of one axis and of three, of whole groups and not."""
    check(block, "add", "shuffled")


@pytest.mark.parametrize("kind", KINDS)
def test_kinds(kind: str) -> None:
    """Of every type."""
    check((70, 1, 1), kind, "descending")


@pytest.mark.parametrize("order", ORDERS)
def test_reductions_in_a_loop(order: str) -> None:
    """The memory of a block is written to again when all threads have read it."""
    array = numbers((70, 1, 1), "i32")
    totals = array.reshape(BLOCK_COUNT, -1).sum(1)
    body = """
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %start = memref.load %a[%t] : memref<?xi32>
    %end = scf.for %k = %c0 to %c3 step %c1 iter_args(%value = %start) -> (i32) {
      %all = gpu.all_reduce add %value uniform {} : (i32) -> i32
      scf.yield %all : i32
    }
    memref.store %end, %a[%t] : memref<?xi32>
    """
    run((70, 1, 1), body, array, "i32", order)
    np.testing.assert_array_equal(array, np.repeat(totals * 70 * 70, 70).astype(np.int32))
