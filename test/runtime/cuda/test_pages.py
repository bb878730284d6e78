"""Large sparse trees on `arch=ti.cuda`, over a stub of the driver: their memory is mapped as cells
become active, and given back."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from runtime.cuda.machine import stub_the_driver
from runtime.cuda.stub import Stub

import mlirad as ti
from mlirad.errors import TaichiMemoryError
from mlirad.runtime.cuda.constants import CUresult
from mlirad.runtime.executors import EXECUTORS
from mlirad.runtime.program import program

GIGA, N = 1 << 30, 8192
SMALL = 64 << 20  # of a GPU: as much as is ready for a launch, or less


def _start(monkeypatch: pytest.MonkeyPatch, **options: Any) -> Stub:
    monkeypatch.setitem(EXECUTORS, "cuda", EXECUTORS["cuda"])
    stub = stub_the_driver(**options)
    ti.init(arch=ti.cuda, enable_fallback=False)
    return stub


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stub]:
    """A GPU of 2 GiB."""
    made = _start(monkeypatch, total=2 * GIGA)
    yield made
    assert made.mistakes == [] and not made.broken


def _grid() -> tuple[Any, Any]:
    """Numbers in 8,192^3 cells of blocks, and a sum."""
    x, total = ti.field(ti.f32), ti.field(ti.f64, (), needs_grad=True)
    ti.root.pointer(ti.ijk, N // 64).pointer(ti.ijk, 8).dense(ti.ijk, 8).place(x)
    ti.root.lazy_grad()
    return x, total


def test_a_million_cells_of_a_sphere_fit_into_two_gigabytes(stub: Stub) -> None:
    """Of 8,192^3, with a gradient and a tape; the active blocks of 8^3 lie along a surface."""
    x, total = _grid()
    cells = np.unique(_sphere(1_300_000, 330).astype(np.int32), axis=0)
    assert len(cells) > 1_000_000

    @ti.kernel
    def write(cells: ti.types.ndarray(dtype=ti.math.ivec3, ndim=1)):
        for p in cells:
            x[cells[p]] += 2.0

    @ti.kernel
    def add_up():
        for cell in ti.grouped(x):
            total[None] += ti.cast(x[cell], ti.f64) * x[cell]

    write(cells)
    with ti.ad.Tape(total):
        add_up()
    assert total[None] == 4.0 * len(cells)
    assert stub.mapped < GIGA and stub.used() < 2 * GIGA
    for index in cells[:: len(cells) // 7]:
        assert x[index] == 2.0 and x.grad[index] == 4.0
    assert x[0, 0, 0] == x.grad[0, 0, 0] == 0.0


def _sphere(count: int, radius: float) -> Any:
    """Cells in the middle of the grid, spread over a sphere."""
    numbers = np.arange(count) + 0.5
    polar, turn = np.arccos(1 - 2 * numbers / count), np.pi * (1 + 5**0.5) * numbers
    points = np.stack(
        [np.cos(turn) * np.sin(polar), np.sin(turn) * np.sin(polar), np.cos(polar)], 1
    )
    return N // 2 + radius * points


def _write_rows() -> tuple[Any, Any, Any]:
    """A list of a terabyte, its block, and a kernel that writes to every so many items."""
    x = ti.field(ti.f32)
    block = ti.root.pointer(ti.i, 1 << 18)
    block.dense(ti.i, 1 << 20).place(x)

    @ti.kernel
    def write(count: ti.i32, value: ti.f32):
        for i in range(count):
            x[ti.cast(i, ti.i64) * (1 << 20)] = value

    return x, block, write


def test_pages_are_used_again(stub: Stub) -> None:
    """What was deactivated takes no memory, and holds 0 when it is active again."""
    x, block, write = _write_rows()
    write(1000, 3.0)
    mapped = stub.mapped
    for value in range(3):
        block.deactivate_all()
        assert x[5 << 20] == 0.0
        write(25_000, value + 1.0)  # two pages each: a table, too
        assert x[24_999 << 20] == value + 1.0 and x[(5 << 20) + 1] == 0.0
    assert stub.mapped <= 2 * mapped


def test_all_memory_is_given_back(stub: Stub) -> None:
    """With the last tree, or the program."""
    before = stub.allocations
    x, block, write = _write_rows()
    write(10, 1.0)
    assert stub.mapped
    ti.init(arch=ti.cuda, enable_fallback=False)
    del x, block, write
    gc.collect()
    assert not stub.mapped and not stub.ranges and not stub.created
    assert stub.counts["cuMemMap"] == stub.counts["cuMemUnmap"]
    program().executor.memory.transfers.pool.release()
    gc.collect()
    assert stub.allocations <= before + len(stub.modules)


def test_a_tree_that_ends_leaves_its_pages_to_others(stub: Stub) -> None:
    first, second = ti.field(ti.f32), ti.field(ti.f32)
    builder = ti.FieldsBuilder()
    builder.pointer(ti.i, 1 << 18).dense(ti.i, 1 << 16).place(first)
    tree = builder.finalize()
    ti.root.pointer(ti.i, 1 << 18).dense(ti.i, 1 << 16).place(second)

    @ti.kernel
    def write(x: ti.template(), value: ti.f32):
        for i in range(5000):
            x[ti.cast(i, ti.i64) << 16] = value

    write(second, 1.0)
    mapped = stub.mapped
    write(first, 2.0)
    tree.destroy()
    write(second, 3.0)
    assert second[4999 << 16] == 3.0 and stub.mapped == mapped


def test_more_cells_than_there_is_memory_for_are_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stub = _start(monkeypatch, total=SMALL)
    x, block, write = _write_rows()
    with pytest.raises(TaichiMemoryError, match=r"cells of 'x'.* more than the \d+ bytes"):
        write(100_000, 1.0)  # 800 MB
    block.deactivate_all()
    write(100, 2.0)  # the program goes on
    assert x[99 << 20] == 2.0 and x[100 << 20] == 0.0
    assert stub.mapped <= SMALL and stub.mistakes == [] and not stub.broken


def test_a_device_without_reserved_addresses_refuses_by_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stub = _start(monkeypatch, addresses=False)
    with pytest.raises(TaichiMemoryError, match=r"field 'x'.*2199023255552 bytes"):
        _grid()
    assert not stub.counts["cuMemAddressReserve"]
    y = ti.field(ti.f32)
    ti.root.pointer(ti.i, 16).dense(ti.i, 8).place(y)
    y[3] = 2.0
    assert y[3] == 2.0 and not stub.mistakes


def test_memory_that_cannot_be_mapped_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The header and the first pages: nothing of them remains."""
    stub = _start(monkeypatch)
    before = len(stub.blocks)
    for result in (CUresult.CUDA_ERROR_OUT_OF_MEMORY,) * 4:
        stub.fail("cuMemCreate", result)
    _, _, write = _write_rows()
    with pytest.raises(TaichiMemoryError, match="do not fit"):
        write(1, 1.0)
    assert not stub.ranges and not stub.created
    assert len(stub.blocks) == before + 1  # the activity, a small tree
    assert not stub.mistakes


@pytest.mark.parametrize("size", [1, 4095, 4096, 3 << 22])
def test_bytes_that_are_cleared_in_pieces(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Pages that lie in the piece are free; what lies beside it stays."""
    stub = _start(monkeypatch, paged_from=0)
    memory = program().executor.memory
    count = (4 << 22) + 12_000  # and a table of which little is used
    allocation = memory.allocate(count, lazily=True)
    elements = memory.elements(allocation, 0, np.dtype(np.uint8), (count,), (1,))
    elements.write(np.full(count, 7, np.uint8))
    for start in (0, 4096, 5000, 1 << 22, count - (3 << 22) - 5000):
        elements.fill(7)
        allocation.discard(start, size)
        expected = np.full(count, 7, np.uint8)
        expected[start : start + size] = 0
        np.testing.assert_array_equal(elements.read(), expected)
    allocation.clear()
    assert not elements.any() and not stub.mistakes
