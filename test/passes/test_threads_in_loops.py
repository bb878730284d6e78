"""GPU kernels run by loops give what threads would: in any order, with barriers anywhere."""

import ctypes
import itertools
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import dedent, indent

import numpy as np
import pytest

from mlirad.bindings import ExecutionEngine, ir
from mlirad.dialect import context
from mlirad.pipeline.runner import run_pipeline
from mlirad.pipeline.stages.cpu import target_stage

ORDERS = ("order=ascending", "order=descending", "order=shuffled", "order=shuffled seed=4")
Array = np.ndarray


def _descriptor(array: Array) -> ctypes.Array[ctypes.c_int64]:
    """What an MLIR function takes for a vector."""
    address = array.ctypes.data
    return (ctypes.c_int64 * 5)(address, address, 0, array.size, 1)


def run(
    body: str,
    arrays: Sequence[Array],
    order: str,
    *,
    grid: tuple[int, int, int] = (1, 1, 1),
    block: tuple[int, int, int] = (8, 1, 1),
    memory: str = "",
) -> None:
    """Run a kernel whose body is given; its arguments are `%a`, `%b` ..., the places of a thread
    `%tx`, `%bx` ..., and `%c0` to `%c9` constants."""
    names = ["%" + chr(ord("a") + number) for number in range(len(arrays))]
    kinds = [{"f": "f32", "i": "i32"}[array.dtype.kind] for array in arrays]
    arguments = ", ".join(f"{name}: memref<?x{kind}>" for name, kind in zip(names, kinds))
    places = "\n".join(
        f"%{letter}{axis} = gpu.{kind} {axis}"
        for letter, kind in (("t", "thread_id"), ("b", "block_id"), ("n", "block_dim"))
        for axis in "xyz"
    )
    numbers = "\n".join(f"%c{n} = arith.constant {n} : index" for n in range(10))
    sizes = [f"%s{i} = arith.constant {n} : index" for i, n in enumerate((*grid, *block))]
    text = f"""
    module attributes {{gpu.container_module}} {{
      func.func @launch({arguments}) attributes {{llvm.emit_c_interface}} {{
        {"; ".join(sizes).replace("; ", chr(10))}
        gpu.launch_func @m::@f blocks in (%s0, %s1, %s2) threads in (%s3, %s4, %s5)
          args({arguments})
        return
      }}
      gpu.module @m {{
        gpu.func @f({arguments}) {memory} kernel {{
          {indent(places + chr(10) + numbers + dedent(body), " " * 10)}
          gpu.return
        }}
      }}
    }}"""
    module = ir.Module.parse(text, context())
    run_pipeline(
        module.operation,
        f"builtin.module(run-threads-in-loops{{{order}}},{target_stage(fast_math=False).passes})",
    )
    engine = ExecutionEngine(module, opt_level=2)
    descriptors = [*map(_descriptor, arrays)]
    pointers = [ctypes.c_void_p(ctypes.addressof(one)) for one in descriptors]
    engine.lookup("launch")((ctypes.c_void_p * len(pointers))(*map(ctypes.addressof, pointers)))


@pytest.fixture(params=ORDERS)
def order(request: pytest.FixtureRequest) -> str:
    return str(request.param)


LINEAR = """
%row = arith.muli %tz, %ny : index
%rows = arith.addi %row, %ty : index
%first = arith.muli %rows, %nx : index
%t = arith.addi %first, %tx : index
"""


@pytest.mark.parametrize("order", ORDERS)
def test_orders(order: str) -> None:
    """Every thread runs once, in the order that was asked for."""
    grid, block = (3, 2, 2), (5, 3, 2)
    count = int(np.prod(grid) * np.prod(block))
    seen, tickets = np.zeros(count, np.int32), np.zeros(1, np.int32)
    places = (
        LINEAR
        + """
    %gx = gpu.grid_dim x
    %gy = gpu.grid_dim y
    %b0 = arith.muli %bz, %gy : index
    %b1 = arith.addi %b0, %by : index
    %b2 = arith.muli %b1, %gx : index
    %b3 = arith.addi %b2, %bx : index
    %xy = arith.muli %nx, %ny : index
    %xyz = arith.muli %xy, %nz : index
    %b4 = arith.muli %b3, %xyz : index
    %place = arith.addi %b4, %t : index
    %one = arith.constant 1 : i32
    %ticket = memref.atomic_rmw addi %one, %b[%c0] : (i32, memref<?xi32>) -> i32
    %after = arith.addi %ticket, %one : i32
    memref.store %after, %a[%place] : memref<?xi32>
    """
    )
    run(places, [seen, tickets], order, grid=grid, block=block)
    assert tickets[0] == count and sorted(seen) == [*range(1, count + 1)]
    if "shuffled" in order:
        steps = np.diff(seen)
        assert len(set(steps[:29])) > 1 and len(set(seen[::30] - seen.min())) == 12
    else:
        assert [*seen] == [*range(1, count + 1)][:: 1 if "ascending" in order else -1]


def test_shuffles_differ() -> None:
    """A seed gives an order of its own."""
    found = []
    for seed in range(3):
        seen, tickets = np.zeros(64, np.int32), np.zeros(1, np.int32)
        body = """
        %one = arith.constant 1 : i32
        %ticket = memref.atomic_rmw addi %one, %b[%c0] : (i32, memref<?xi32>) -> i32
        memref.store %ticket, %a[%tx] : memref<?xi32>
        """
        run(body, [seen, tickets], f"order=shuffled seed={seed}", block=(64, 1, 1))
        found.append(tuple(seen))
        assert seen[0] != 0 or seen[1] != 1
    assert len(set(found)) == 3


def test_without_a_barrier_order_is_seen() -> None:
    """Threads that read what others write, without waiting, get what the order makes of it."""
    body = """
    %value = memref.load %a[%tx] : memref<?xf32>
    %next = arith.addi %tx, %c1 : index
    memref.store %value, %a[%next] : memref<?xf32>
    """
    found = []
    for order in ORDERS[:2]:
        array = np.arange(9, dtype=np.float32)
        run(body, [array], order)
        found.append([*array])
    assert found == [[0.0] * 9, [0.0, 0.0, *map(float, range(1, 8))]]


def test_values_and_memory_are_kept(order: str) -> None:
    """A number, a row of a thread's memory, memory of the heap and a view live across a barrier."""
    body = """
    %own = memref.alloca() : memref<2x3xf32>
    %heap = memref.alloc(%c4) : memref<2x?xf32>
    %view = memref.subview %a[%tx] [1] [1] : memref<?xf32> to memref<1xf32, strided<[1], offset: ?>>
    %value = memref.load %a[%tx] : memref<?xf32>
    %twice = arith.addf %value, %value : f32
    memref.store %value, %own[%c1, %c2] : memref<2x3xf32>
    memref.store %twice, %heap[%c1, %c3] : memref<2x?xf32>
    memref.store %value, %shared[%tx] : memref<8xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    %there = arith.subi %c7, %tx : index
    %other = memref.load %shared[%there] : memref<8xf32, #gpu.address_space<workgroup>>
    %0 = memref.load %own[%c1, %c2] : memref<2x3xf32>
    %1 = memref.load %heap[%c1, %c3] : memref<2x?xf32>
    memref.dealloc %heap : memref<2x?xf32>
    %2 = arith.mulf %0, %other : f32
    %3 = arith.addf %2, %1 : f32
    memref.store %3, %view[%c0] : memref<1xf32, strided<[1], offset: ?>>
    """
    array = np.arange(1, 9, dtype=np.float32)
    expected = array * array[::-1] + 2 * array
    shared = "workgroup(%shared: memref<8xf32, #gpu.address_space<workgroup>>)"
    run(body, [array], order, memory=shared)
    np.testing.assert_array_equal(array, expected)


def test_a_loop_with_barriers(order: str) -> None:
    """Carried values are a thread's own; a scan by Hillis and Steele, and a swap."""
    body = """
    %value = memref.load %a[%tx] : memref<?xf32>
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    memref.store %value, %shared[%tx] : memref<8xf32, #gpu.address_space<workgroup>>
    %sum, %x, %y = scf.for %k = %c0 to %c3 step %c1
        iter_args(%s = %value, %p = %zero, %q = %one) -> (f32, f32, f32) {
      gpu.barrier
      %distance = arith.shli %c1, %k : index
      %reaches = arith.cmpi uge, %tx, %distance : index
      %more = scf.if %reaches -> f32 {
        %there = arith.subi %tx, %distance : index
        %other = memref.load %shared[%there] : memref<8xf32, #gpu.address_space<workgroup>>
        scf.yield %other : f32
      } else {
        scf.yield %zero : f32
      }
      %next = arith.addf %s, %more : f32
      gpu.barrier
      memref.store %next, %shared[%tx] : memref<8xf32, #gpu.address_space<workgroup>>
      scf.yield %next, %q, %p : f32, f32, f32
    }
    %10 = arith.constant 10.0 : f32
    %tens = arith.mulf %x, %10 : f32
    %result = arith.addf %sum, %tens : f32
    memref.store %result, %a[%tx] : memref<?xf32>
    """
    array = np.arange(1, 9, dtype=np.float32)
    expected = np.cumsum(array) + 10  # three swaps: x is what y was
    shared = "workgroup(%shared: memref<8xf32, #gpu.address_space<workgroup>>)"
    run(body, [array], order, memory=shared)
    np.testing.assert_array_equal(array, expected)


def test_loops_and_branches_by_values_in_memory(order: str) -> None:
    """Bounds and conditions that are the same for all threads, though nothing shows it."""
    body = """
    %trips = memref.load %b[%c0] : memref<?xi32>
    %count = arith.index_cast %trips : i32 to index
    scf.for %k = %c0 to %count step %c1 {
      %odd = arith.remui %k, %c2 : index
      %is_odd = arith.cmpi eq, %odd, %c1 : index
      %value = memref.load %a[%tx] : memref<?xf32>
      %moved = scf.if %is_odd -> f32 {
        gpu.barrier
        %to = arith.addi %tx, %c1 : index
        %there = arith.remui %to, %c8 : index
        memref.store %value, %a[%there] : memref<?xf32>
        gpu.barrier
        %got = memref.load %a[%tx] : memref<?xf32>
        scf.yield %got : f32
      } else {
        %doubled = arith.addf %value, %value : f32
        scf.yield %doubled : f32
      }
      memref.store %moved, %a[%tx] : memref<?xf32>
    }
    """
    array = np.arange(8, dtype=np.float32)
    run(body, [array, np.array([5], np.int32)], order)
    np.testing.assert_array_equal(array, 8 * np.roll(np.arange(8), 2))


def test_a_while_loop_that_all_leave_at_once(order: str) -> None:
    """Threads halve their numbers until the largest is below 1."""
    body = """
    %start = memref.load %a[%tx] : memref<?xf32>
    %one = arith.constant 1.0 : f32
    %half = arith.constant 0.5 : f32
    %end, %trips = scf.while (%v = %start, %n = %c0) : (f32, index) -> (f32, index) {
      %largest = gpu.all_reduce maxnumf %v {} : (f32) -> f32
      %goes_on = arith.cmpf oge, %largest, %one : f32
      scf.condition(%goes_on) %v, %n : f32, index
    } do {
    ^bb0(%v: f32, %n: index):
      %less = arith.mulf %v, %half : f32
      %more = arith.addi %n, %c1 : index
      scf.yield %less, %more : f32, index
    }
    memref.store %end, %a[%tx] : memref<?xf32>
    %word = arith.index_cast %trips : index to i32
    memref.store %word, %b[%tx] : memref<?xi32>
    """
    array, trips = np.array([3, 1, 20, 5, 0, 2, 7, 1], np.float32), np.zeros(8, np.int32)
    expected = array / 32
    run(body, [array, trips], order)
    np.testing.assert_array_equal(array, expected)
    assert [*trips] == [5] * 8


FLOATS: dict[str, Callable[[Array], float]] = {
    "add": np.sum,
    "mul": np.prod,
    "minnumf": np.min,
    "maxnumf": np.max,
    "minimumf": np.min,
    "maximumf": np.max,
}
INTEGERS: dict[str, Callable[[Array], int]] = {
    "add": np.sum,
    "mul": np.prod,
    "minsi": np.min,
    "maxsi": np.max,
    "minui": lambda array: array.view(np.uint32).min().view(np.int32),
    "maxui": lambda array: array.view(np.uint32).max().view(np.int32),
    "and": np.bitwise_and.reduce,
    "or": np.bitwise_or.reduce,
    "xor": np.bitwise_xor.reduce,
}


@pytest.mark.parametrize(
    ("kind", "type_"), [*itertools.product(FLOATS, ["f32"]), *itertools.product(INTEGERS, ["i32"])]
)
def test_block_reductions(kind: str, type_: str) -> None:
    """Of all threads of a block of three axes, block by block; each thread gets the result."""
    body = (
        LINEAR
        + f"""
    %base = arith.muli %bx, %c8 : index
    %place = arith.addi %base, %t : index
    %value = memref.load %a[%place] : memref<?x{type_}>
    %all = gpu.all_reduce {kind} %value uniform {{}} : ({type_}) -> {type_}
    memref.store %all, %a[%place] : memref<?x{type_}>
    """
    )
    numbers = [3, -2, 5, 7, -1, 4, 6, 2, 9, 8, -5, 3, 2, 2, 1, 4]
    array = np.array(numbers, np.float32 if type_ == "f32" else np.int32)
    of_all = (FLOATS if type_ == "f32" else INTEGERS)[kind]
    expected = [of_all(block) for block in array.copy().reshape(2, 8) for _ in range(8)]
    run(body, [array], "order=descending", grid=(2, 1, 1), block=(2, 2, 2))
    assert [*array] == expected


def test_a_reduction_by_a_region() -> None:
    body = """
    %value = memref.load %a[%tx] : memref<?xf32>
    %all = gpu.all_reduce %value {
    ^bb0(%x: f32, %y: f32):
      %sum = arith.addf %x, %y : f32
      %twice = arith.addf %sum, %y : f32
      gpu.yield %twice : f32
    } : (f32) -> f32
    memref.store %all, %a[%tx] : memref<?xf32>
    """
    array = np.array([1, 2, 3, 4], np.float32)
    run(body, [array], "order=shuffled", block=(4, 1, 1))
    assert [*array] == [1 + 2 * 2 + 2 * 3 + 2 * 4] * 4


def test_threads_that_disagree_end_the_process() -> None:
    """What a GPU would hang on is named."""
    program = f"""
    import sys
    sys.path.insert(0, {str(Path(__file__).parent)!r})
    import numpy as np
    from test_threads_in_loops import run
    body = '''
    %value = memref.load %a[%tx] : memref<?xi32>
    %count = arith.index_cast %value : i32 to index
    scf.for %k = %c0 to %count step %c1 {{
      gpu.barrier
    }}
    '''
    run(body, [np.array([2, 2, 2, int(sys.argv[1])] * 2, np.int32)], 'order=ascending')
    print('done')
    """
    for last, word in (("2", "done"), ("3", "threads of a block disagree on 'scf.for'")):
        command = [sys.executable, "-c", dedent(program), last]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert word in done.stdout + done.stderr
        assert (done.returncode == 0) == (last == "2")
