"""Sparse layouts in kernels: which cells are active, loops over them, and what they hold; against
the same programs on dense fields, and against sets and lists of Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad as ti
from mlirad.lang.layout import deactivation

Lay = Callable[[Any], Any]  # puts fields of 16 by 12 into a layout

LAYOUTS: dict[str, Lay] = {
    "dense": lambda x: ti.root.dense(ti.ij, (16, 12)).place(*x),
    "pointer": lambda x: ti.root.pointer(ti.ij, (4, 3)).dense(ti.ij, (4, 4)).place(*x),
    "elements": lambda x: ti.root.pointer(ti.ij, (16, 12)).place(*x),
    "bitmasked": lambda x: ti.root.bitmasked(ti.ij, (16, 12)).place(*x),
    "axes": lambda x: ti.root.pointer(ti.i, 8).bitmasked(ti.j, 3).dense(ti.ij, (2, 4)).place(*x),
    "nested": lambda x: (
        ti.root.dense(ti.i, 2)
        .pointer(ti.ij, (2, 3))
        .pointer(ti.i, 2)
        .bitmasked(ti.ji, 2)
        .dense(ti.j, 2)
        .place(*x)
    ),
    "below bitmasked": lambda x: (
        ti.root.bitmasked(ti.ij, (4, 3)).pointer(ti.ij, (2, 2)).dense(ti.ij, 2).place(*x)
    ),
    "list": lambda x: ti.root.pointer(ti.i, 16).dynamic(ti.j, 12).place(*x),
    "list of rows": lambda x: ti.root.dynamic(ti.i, 8).dense(ti.ij, (2, 12)).place(*x),
}
SPARSE = [name for name in LAYOUTS if name != "dense"]


def _fields(layout: str, offset: tuple[int, int] | None = None) -> tuple[Any, Any]:
    ti.init()
    x, y = ti.field(ti.f64, needs_grad=True), ti.field(ti.f64, needs_grad=True)
    if offset is None:
        LAYOUTS[layout]([x, y])
    else:
        ti.root.pointer(ti.ij, (4, 3)).dense(ti.ij, 4).place(x, y, offset=offset)
    return x, y


def _run(layout: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    x, y = _fields(layout)
    total = ti.field(ti.f64, (), needs_grad=True)
    value, weight = ti.field(ti.f64, (16, 12), needs_grad=True), ti.field(ti.f64, (16, 12))
    value.from_numpy(np.random.default_rng(1).normal(size=(16, 12)))
    weight.from_numpy(np.random.default_rng(2).normal(size=(16, 12)))

    @ti.kernel
    def scatter():
        for i, j in value:
            if (i // 2 + j) % 5 == 0:
                x[i, j] = value[i, j] * weight[i, j]

    @ti.kernel
    def follow():
        for i, j in x:
            y[i, j] += ti.sin(x[i, j]) * weight[i, j]

    @ti.kernel
    def add_up():
        for i, j in y:
            total[None] += y[i, j] ** 2

    with ti.ad.Tape(total):
        scatter()
        follow()
        add_up()
    return y.to_numpy(), value.grad.to_numpy(), x.grad.to_numpy()


@pytest.mark.host("processor", "products and sums are two roundings, in an order of the layout's")
@pytest.mark.parametrize("layout", SPARSE)
def test_values_and_gradients_are_those_of_dense_fields(layout: str) -> None:
    """To the bit: elements that are not active are 0, and add 0."""
    for found, expected in zip(_run(layout), _run("dense")):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("layout", SPARSE)
def test_tangents_are_those_of_dense_fields(layout: str) -> None:
    """Forward mode, to the bit."""

    def tangents(layout: str) -> np.ndarray:
        ti.init()
        x, y = ti.field(ti.f64, needs_dual=True), ti.field(ti.f64, needs_dual=True)
        LAYOUTS[layout]([x, y])
        p = ti.field(ti.f64, (), needs_dual=True)
        p[None] = 0.7

        @ti.kernel
        def scatter():
            for i, j in ti.ndrange(16, 12):
                if i % 3 == 0 and j < 7:
                    x[i, j] = ti.sin(p[None] * i + j)

        @ti.kernel
        def follow():
            for i, j in x:
                y[i, j] = x[i, j] * x[i, j]

        with ti.ad.FwdMode(loss=y, param=p):
            scatter()
            follow()
        return y.dual.to_numpy()

    np.testing.assert_array_equal(tangents(layout), tangents("dense"))


def _visited(domain: Any, shape: tuple[int, ...]) -> set[tuple[int, ...]]:
    seen = ti.field(ti.i32, shape)

    @ti.kernel
    def visit(domain: ti.template()):
        for index in ti.grouped(domain):
            seen[index] += 1

    visit(domain)
    assert seen.to_numpy().max(initial=0) <= 1
    return {tuple(int(k) for k in index) for index in np.argwhere(seen.to_numpy())}


def test_a_write_activates_the_cells_around_it() -> None:
    """Loops over a field, and over the blocks above it, visit what lies in active cells."""
    ti.init()
    x = ti.field(ti.f32)
    outer = ti.root.pointer(ti.ij, (4, 3))
    inner = outer.bitmasked(ti.i, 4)
    block = inner.dense(ti.ij, (2, 2))
    block.place(x)

    @ti.kernel
    def write():
        x[9, 5] = 1.0
        x[30, 0] += 2.0

    write()
    assert _visited(outer, (4, 3)) == {(1, 2), (3, 0)}
    assert _visited(inner, (16, 3)) == {(4, 2), (15, 0)}
    elements = {
        (i, j) for a, b in ((4, 2), (15, 0)) for i in (2 * a, 2 * a + 1) for j in (2 * b, 2 * b + 1)
    }
    assert _visited(x, (32, 6)) == elements
    assert _visited(x.parent(), (32, 6)) == elements
    assert x.parent() is block and x.parent(2) is inner and block.parent() is inner


def test_indices_begin_with_the_offset() -> None:
    """Of a loop over the field; cells of blocks count from 0."""
    x, _ = _fields("", (-4, 2))
    found = ti.field(ti.i32, 4)

    @ti.kernel
    def write():
        x[-4 + 9, 2 + 7] = 1.0

    @ti.kernel
    def visit():
        for i, j in x:
            ti.atomic_min(found[0], i)
            ti.atomic_max(found[1], i)
            ti.atomic_min(found[2], j)
            ti.atomic_max(found[3], j)

    found.from_numpy(np.array([99, -99, 99, -99], np.int32))
    write()
    visit()
    assert found.to_numpy().tolist() == [4, 7, 6, 9]


def test_deactivation_clears_pointers_and_keeps_bitmasked() -> None:
    """As in Taichi: below a pointer all is 0; a bitmasked cell holds what it held."""
    ti.init()
    x, y = ti.field(ti.f32), ti.field(ti.f32)
    pointer, mask = ti.root.pointer(ti.i, 4), ti.root.bitmasked(ti.i, 4)
    pointer.dense(ti.i, 4).place(x)
    mask.dense(ti.i, 4).place(y)
    active = ti.field(ti.i32, 6)

    @ti.kernel
    def run():
        for i in range(8):
            x[i] = y[i] = i + 1.0
        active[0] = ti.is_active(pointer, 1)
        active[1] = ti.is_active(mask, [1])
        ti.deactivate(pointer, 1)
        ti.deactivate(mask, ti.Vector([1]))
        active[2] = ti.is_active(pointer, 1)
        active[3] = ti.is_active(mask, 1)
        active[4] = ti.is_active(pointer, 0)
        ti.activate(pointer, ti.rescale_index(x, pointer, [13]))
        active[5] = ti.is_active(pointer, 3)

    run()
    assert active.to_numpy().tolist() == [1, 1, 0, 0, 1, 1]
    assert x.to_numpy().tolist() == [1.0, 2.0, 3.0, 4.0] + [0.0] * 12
    assert [y[k] for k in range(8)] == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    assert _visited(y, (16,)) == {(k,) for k in range(4)}


def test_lists() -> None:
    """Appended in parallel, each item once; a write behind the end makes a list longer."""
    ti.init()
    x, single = ti.field(ti.i32), ti.field(ti.i32)
    block = ti.root.dense(ti.i, 8).dynamic(ti.j, 64, chunk_size=4)
    block.place(x)
    ti.root.dynamic(ti.i, 16).place(single)
    lengths = ti.field(ti.i32, 10)

    @ti.kernel
    def append():
        for i in range(100):
            x[i % 7].append(i)
        single.append(5)
        x[7, 9] = 1
        for i in range(8):
            lengths[i] = x[i].length()
        lengths[8] = single.length()
        x[7].deactivate()
        lengths[9] = ti.length(block, 7)

    append()
    expected = [[k for k in range(100) if k % 7 == i] for i in range(7)]
    assert lengths.to_numpy().tolist() == [*map(len, expected), 10, 1, 0]
    found = x.to_numpy()
    assert [sorted(found[i, : len(items)].tolist()) for i, items in enumerate(expected)] == expected
    assert _visited(x, (8, 64)) == {(i, j) for i, s in enumerate(expected) for j in range(len(s))}
    assert not found[7].any()


@pytest.mark.parametrize("serial", [False, True])
def test_jumps_in_loops_over_active_elements(serial: bool) -> None:
    """`continue`, and `break` of a serial loop, end what they end in any loop."""
    x, _ = _fields("pointer")
    count = ti.field(ti.i32, ())

    @ti.kernel
    def write():
        x[1, 1] = 1.0
        x[9, 9] = 1.0

    @ti.kernel
    def go_on():
        for i, _j in x:
            if i % 2 == 1:
                continue
            count[None] += 1

    @ti.kernel
    def stop():
        ti.loop_config(serialize=True)
        for i, _j in x:
            if i == 8:
                break
            count[None] += 1

    write()
    (stop if serial else go_on)()
    assert count[None] == 16


def test_what_lies_outside_is_an_error_of_the_launch() -> None:
    """Nothing is written, and the next launch works."""
    ti.init()
    x, items = ti.field(ti.i32), ti.field(ti.i32)
    block = ti.root.pointer(ti.i, 4)
    block.dense(ti.i, 4).place(x)
    ti.root.dynamic(ti.i, 4).place(items)

    @ti.kernel
    def activate(k: ti.i32):
        ti.activate(block, k)

    @ti.kernel
    def append(count: ti.i32):
        for k in range(count):
            items.append(k + 1)

    @ti.kernel
    def write(k: ti.i32):
        x[k] += 1
        x[k] = 1

    for k in (4, -1, 1 << 28):
        with pytest.raises(ti.TaichiAssertionError, match="outside of the tree"):
            activate(k)
        with pytest.raises(ti.TaichiAssertionError):
            write(4 * k)
    with pytest.raises(ti.TaichiAssertionError, match="list that is full: it has room for 4"):
        append(9)
    kept = set(items.to_numpy().tolist())  # of those that came first
    assert len(kept) == 4 and kept <= set(range(1, 10))
    activate(2)
    assert _visited(x, (16,)) == {(8,), (9,), (10,), (11,)}


def test_what_is_no_sparse_block_is_refused() -> None:
    """By name, at the line."""
    ti.init()
    x, y = ti.field(ti.i32), ti.field(ti.i32)
    dense = ti.root.dense(ti.i, 4)
    dense.place(x)
    pointer = ti.root.pointer(ti.i, 4)
    pointer.place(y)

    @ti.kernel
    def activate_dense():
        ti.activate(dense, 1)

    @ti.kernel
    def length_of_pointer():
        ti.length(pointer, 1)

    @ti.kernel
    def of_field():
        ti.activate(y, 1)

    @ti.kernel
    def two_indices():
        ti.activate(pointer, [1, 2])

    for kernel, message in (
        (activate_dense, "dense block are always active"),
        (length_of_pointer, "expected a dynamic block"),
        (of_field, "expected a block of a layout tree"),
        (two_indices, "1 index axis, but is accessed with 2"),
    ):
        with pytest.raises(ti.TaichiCompilationError, match=message):
            kernel()
    for make in (
        lambda: ti.root.pointer(ti.ij, (2, 3, 4)),
        lambda: ti.root.dynamic(ti.ij, 4),
        lambda: ti.root.bitmasked(ti.i, 0),
    ):
        with pytest.raises(ti.TaichiRuntimeError):
            make()


def test_a_loop_goes_over_what_was_active_before_it() -> None:
    """What it activates itself, in other cells, it does not visit; in any number of launches."""
    ti.init()
    x, count = ti.field(ti.i32), ti.field(ti.i32, ())
    ti.root.pointer(ti.i, 64).dense(ti.i, 16).place(x)

    @ti.kernel
    def grow():
        for i in x:
            count[None] += 1
            if i + 16 < 1024:
                x[i + 16] += 1

    @ti.kernel
    def begin():
        x[5] = 1

    begin()
    for launch in range(1, 5):
        count[None] = 0
        grow()
        assert count[None] == 16 * launch
    assert _visited(x, (1024,)) == {(i,) for i in range(80)}


@pytest.mark.parametrize("debug", [False, True])
def test_a_tree_of_many_cells(debug: bool) -> None:
    """Of 8,192 cells along each axis, a loop, its reverse and its sums go over the active ones."""
    ti.init(debug=debug)
    x, y = ti.field(ti.f64, needs_grad=True), ti.field(ti.f64, needs_grad=True)
    outer = ti.root.pointer(ti.ijk, 32)
    outer.pointer(ti.ijk, 16).dense(ti.ijk, 16).place(x, y)
    total = ti.field(ti.f64, (), needs_grad=True)
    cells = ti.field(ti.i32, ())

    @ti.kernel
    def begin():
        for k in range(20):
            x[400 * k, 8191 - 300 * k, 7] = k + 1.0

    @ti.kernel
    def follow():
        for i, j, k in x:
            y[i, j, k] = x[i, j, k] ** 2

    @ti.kernel
    def add_up():
        for index in ti.grouped(y):
            total[None] += y[index] * 3.0

    @ti.kernel
    def count():
        for _i, _j, _k in outer:
            cells[None] += 1

    begin()
    with ti.ad.Tape(total):
        follow()
        add_up()
    count()
    assert cells[None] == len({(400 * k // 256, (8191 - 300 * k) // 256) for k in range(20)})
    assert total[None] == sum(3.0 * (k + 1) ** 2 for k in range(20))
    assert x.grad[2000, 8191 - 1500, 7] == 36.0


def test_a_serial_loop_over_too_many_cells_is_refused() -> None:
    """It would test each."""
    ti.init()
    x = ti.field(ti.f32)
    ti.root.pointer(ti.ij, 1 << 12).pointer(ti.ij, 1 << 8).place(x)

    @ti.kernel
    def run():
        ti.loop_config(serialize=True)
        for i, j in x:
            x[i, j] = 1.0

    with pytest.raises(
        ti.TaichiCompilationError, match="would test 1099511627776 cells one by one"
    ):
        run()


def _appended(serial: bool) -> Any:
    ti.init()
    x, y = ti.field(ti.f64, needs_grad=True), ti.field(ti.f64, 20, needs_grad=True)
    ti.root.dense(ti.i, 3).dynamic(ti.j, 16).place(x)
    total = ti.field(ti.f64, (), needs_grad=True)
    y.from_numpy(np.arange(20.0))

    @ti.kernel
    def append():
        ti.loop_config(serialize=serial)
        for i in y:
            x[i % 3].append(y[i] * y[i])

    @ti.kernel
    def weigh():
        for i, j in x:
            total[None] += x[i, j] * (j + 1.0)

    with ti.ad.Tape(total):
        append()
        weigh()
    return y.grad.to_numpy()


def test_items_that_are_appended_in_order_carry_derivatives() -> None:
    """The place of an item is what the launch gave it; in parallel it is that of no order."""
    k = np.arange(20.0)
    np.testing.assert_array_equal(_appended(True), 2 * k * (k // 3 + 1))
    with pytest.raises(ti.TaichiRuntimeError, match="updated here in iteration"):
        _appended(False)


@pytest.mark.cpu_code("addresses of the host")
def test_addresses_of_elements() -> None:
    """They differ by what lies between: here in cells of 3 f32, rows of 4 cells."""
    ti.init()
    x, v = ti.field(ti.f32), ti.Vector.field(2, ti.f32)
    ti.root.pointer(ti.i, 4).dense(ti.ij, (2, 4)).place(x, v)
    found = ti.field(ti.u64, 4)

    @ti.kernel
    def ask(array: ti.types.ndarray(dtype=ti.f64, ndim=2)):
        found[0] = ti.get_addr(x, [3, 2]) - ti.get_addr(x, [0, 0])
        found[1] = ti.get_addr(v, [3, 2]) - ti.get_addr(x, [3, 2])
        found[2] = ti.get_addr(array, [2, 1]) - ti.get_addr(array, [0, 0])
        found[3] = ti.get_addr(array, [0, 0])

    values = np.zeros((3, 5))
    ask(values)
    assert found.to_numpy().tolist() == [12 * (3 * 4 + 2), 4, 8 * 11, values.ctypes.data]


@pytest.mark.parametrize("bits", range(4))
def test_lists_along_an_axis_of_blocks_around_them(bits: int) -> None:
    """Items count from 0 in each list, whatever lies around and below."""
    ti.init()
    x = ti.field(ti.i32)
    outer = ti.root.pointer(ti.i, 3) if bits & 1 else ti.root.dense(ti.i, 3)
    block = outer.dynamic(ti.i, 5)
    (block.dense(ti.i, 2) if bits & 2 else block).place(x)
    width = 2 if bits & 2 else 1
    lengths = ti.field(ti.i32, 3)

    @ti.kernel
    def write():
        x[5 * width + 3 * width] = 1

    @ti.kernel
    def ask():
        for i in range(3):
            lengths[i] = ti.length(block, i)

    write()
    ask()
    assert lengths.to_numpy().tolist() == [0, 4, 0]
    assert _visited(x, (15 * width,)) == {(i,) for i in range(5 * width, 9 * width)}
    assert _visited(block, (15,)) == {(i,) for i in range(5, 9)}


@pytest.mark.parametrize("kind", ["pointer", "bitmasked"])
def test_serial_loops_leave_other_elements_as_they_are(kind: str) -> None:
    x = ti.field(ti.f32)
    block = getattr(ti.root, kind)(ti.i, 16)
    block.place(x)

    @ti.kernel
    def grow():
        for _ in range(1):
            for i in x:
                x[(i + 1) % 16] = 1.0

    @ti.kernel
    def consume() -> int:
        count = 0
        ti.loop_config(serialize=True)
        for i in x:
            x[i] += 1.0
            count += 1
            ti.deactivate(block, i)
        return count

    x[0] = x[5] = 1.0
    with pytest.raises(ti.TaichiCompilationError, match="changes which elements are active"):
        grow()
    assert consume() == 2 and consume() == 0


def test_grids_of_structs() -> None:
    ti.init()
    x = ti.sparse.grid({"p": ti.math.vec2, "n": ti.i32}, shape=(4, 5))
    assert x.shape == (4, 5) and ti.sparse.usage(x) == 0
    x[1, 2].p = [1, 2]
    x[3, 4].n = 7
    x[3, 4].n = 8
    assert ti.sparse.usage(x) == 2 / 20
    assert ti.sparse.usage(ti.sparse.grid({"n": ti.i32}, (2, 2, 2))) == 0
    with pytest.raises(ti.TaichiRuntimeError, match="two or three axes for a sparse grid, got 1"):
        ti.sparse.grid({"n": ti.i32}, 4)


@pytest.mark.parametrize("much", [0, 1 << 26])
def test_all_of_a_tree_is_given_up(much: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is given back where there is much, and set to 0 where there is little."""
    monkeypatch.setattr(deactivation, "_MUCH", much)
    ti.init()
    x, y, kept, mask = (ti.field(ti.f32) for _ in range(4))
    outer = ti.root.pointer(ti.ij, 8)
    inner = outer.bitmasked(ti.ij, 32)
    inner.place(x)
    outer.dynamic(ti.k, 4096).place(y)
    ti.root.pointer(ti.i, 8).dense(ti.i, 4096).place(kept)
    ti.root.bitmasked(ti.i, 8).place(mask)
    around = ti.field(ti.i32, 3)

    @ti.kernel
    def look():
        around[0] = ti.is_active(outer, [1, 2])
        around[1] = ti.is_active(inner, [40, 70])
        around[2] = ti.length(y.parent(), [1, 2])

    def write() -> None:
        x[40, 70] = y[1, 2, 7] = kept[5] = mask[3] = 2.0

    write()
    look()
    assert around.to_numpy().tolist() == [1, 1, 8]
    outer.deactivate_all()
    look()
    assert around.to_numpy().tolist() == [0, 0, 0]
    assert x[40, 70] == y[1, 2, 7] == 0.0
    assert kept[5] == mask[3] == 2.0
    write()
    ti.deactivate_all_snodes()
    look()
    assert around.to_numpy().tolist() == [0, 0, 0]
    assert x[40, 70] == y[1, 2, 7] == kept[5] == 0.0
    assert mask[3] == 2.0 and not mask.to_numpy().any()
