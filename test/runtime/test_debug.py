"""With `debug=True`, indices and assertions are checked, on one thread and on two."""

from __future__ import annotations

import ctypes
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlirad as ti

HERE = Path(__file__)


@pytest.fixture(params=[1, 2], ids=["one_thread", "two_threads"])
def height(request: pytest.FixtureRequest) -> Any:
    """A field that is accessed out of bounds, beside one that must not notice."""
    ti.init(debug=True, default_fp=ti.f64, cpu_max_num_threads=request.param)
    height = ti.field(ti.f64)
    other = ti.field(ti.i32)
    ti.root.dense(ti.ij, (5000, 4)).place(height, other)
    other.fill(7)
    yield height
    np.testing.assert_array_equal(other.to_numpy(), np.full((5000, 4), 7))
    ti.reset()


def place_of(kernel: Callable[..., Any]) -> str:
    """File and number of the marked line of a kernel of this file."""
    lines, start = inspect.getsourcelines(kernel.__wrapped__)
    found = [start + k for k, line in enumerate(lines) if "# here" in line]
    assert len(found) == 1
    return f"{HERE}:{found[0]}:"


def test_reads_and_writes_out_of_bounds(height: Any) -> None:
    @ti.kernel
    def write(shift: int):
        for i in range(5000):
            height[i + shift, 3] = 1  # here

    @ti.kernel
    def read(i: int, j: int) -> ti.f64:
        return height[i, j]  # here

    @ti.kernel
    def update(i: int):
        height[0, i] += 1  # here

    write(0)
    assert read(4999, 3) == 1
    for call, where, size in (
        (lambda: write(1), write, "5000, 3"),
        (lambda: write(-1), write, "-1, 3"),
        (lambda: read(0, 4), read, "0, 4"),
        (lambda: read(-1, 0), read, "-1, 0"),
        (lambda: update(4), update, "0, 4"),
    ):
        with pytest.raises(ti.TaichiAssertionError) as caught:
            call()
        message = str(caught.value)
        assert place_of(where) in message
        assert "height" in message and "(5000, 4)" in message and f"({size})" in message
        assert isinstance(caught.value, AssertionError | RuntimeError)
    assert read(0, 0) == 0


def test_arrays_and_vectors_out_of_bounds(height: Any) -> None:
    @ti.kernel
    def array(x: ti.types.ndarray(), i: int):
        x[i] = 1  # here

    @ti.kernel
    def vector(i: int) -> int:
        v = ti.Vector([1, 2, 3])
        return v[i]  # here

    x = np.zeros(3)
    array(x, 2)
    assert vector(2) == 3
    for call, where in (
        (lambda: array(x, 3), array),
        (lambda: array(x, -1), array),
        (lambda: vector(3), vector),
    ):
        with pytest.raises(ti.TaichiAssertionError, match="Out of bound access") as caught:
            call()
        assert place_of(where) in str(caught.value)
    np.testing.assert_array_equal(x, [0, 0, 1])


def test_an_index_made_of_nan(height: Any) -> None:
    """A clamp keeps it, as NumPy's does; the integer is the lowest."""

    @ti.kernel
    def read(x: ti.f64) -> ti.f64:
        return height[int(ti.math.clamp(ti.acos(x), 0.0, 3.0)), 0]  # here

    assert read(-1.0) == 0
    with pytest.raises(ti.TaichiAssertionError, match=r"\(-2147483648, 0\)") as caught:
        read(2.0)
    assert place_of(read) in str(caught.value)


def test_assertions(height: Any) -> None:
    @ti.kernel
    def run(limit: int):
        for i in range(5000):
            assert i < limit, f"i = {i} of {limit}, half is {i / 2}"  # here
            height[i, 0] = 1

    run(5000)
    with pytest.raises(
        ti.TaichiAssertionError, match=r"i = 4999 of 4999, half is 2499\.5"
    ) as caught:
        run(4999)
    assert place_of(run) in str(caught.value)
    run(5000)


def test_python_reads_out_of_bounds(height: Any) -> None:
    with pytest.raises(ti.TaichiAssertionError, match="out of bounds"):
        height[5000, 0]


def test_an_offset_moves_the_bounds(height: Any) -> None:
    x = ti.field(ti.i32, shape=4, offset=-2)

    @ti.kernel
    def run(i: int) -> int:
        return x[i]

    assert [run(i) for i in range(-2, 2)] == [0] * 4
    for i in (-3, 2):
        with pytest.raises(ti.TaichiAssertionError):
            run(i)


def test_iterations_that_read_what_others_write() -> None:
    """A loop over a row that feeds itself gives what the order makes it give: a warning, with both
    lines; where it is serial, or writes elsewhere, none."""
    ti.init(debug=True)
    a = ti.field(ti.f32, shape=(8, 9))
    b = ti.field(ti.f32, shape=(8, 9))

    @ti.kernel
    def along():
        for i, j in ti.ndrange(8, 8):
            a[i, j + 1] = a[i, j] + 1  # here

    @ti.kernel
    def fine():
        for i in range(8):
            for j in range(8):
                a[i, j + 1] = a[i, j] + 1
        for i, j in ti.ndrange(8, 8):
            b[i, j + 1] = a[i, j] + 1

    fine()
    with pytest.warns(UserWarning, match="another iteration of the same parallel loop") as found:
        along()
    file, line, _ = place_of(along).split(":")
    assert (found[0].filename, str(found[0].lineno)) == (file, line)
    assert f"{file}:{line}:" in str(found[0].message)


@pytest.mark.cpu_code("memory beside that of fields")
def test_elements_out_of_bounds_are_in_guard_bytes() -> None:
    ti.init(arch=ti.cpu)
    x = ti.Matrix.field(4, 4, ti.f64, 5)

    @ti.kernel
    def run(i: int):
        x[i] = ti.Matrix.diag(4, 3.0)

    run(4)
    before, allocation = x.to_numpy(), x.memory.allocation
    for i in (-1, 5):
        assert not allocation.overrun()
        run(i)
        assert allocation.overrun()
        np.testing.assert_array_equal(x.to_numpy(), before)


@pytest.mark.cpu_code("memory beside that of fields")
@pytest.mark.parametrize("place", [-8, 5 * 8])
def test_what_is_written_beside_fields_is_noticed(place: int) -> None:
    ti.init(arch=ti.cpu, debug=True)
    x, y = ti.field(ti.f64, 5), ti.field(ti.f64, 5)

    @ti.kernel
    def run():
        for i in y:
            y[i] += 1

    x.fill(2)
    run()
    ctypes.memset(x.memory.address + place, 1, 8)
    with pytest.raises(
        ti.TaichiAssertionError, match="kernel 'run': memory next to 'x' was overwritten"
    ):
        run()
    run()
    assert y.to_numpy().tolist() == [3] * 5 and x.to_numpy().tolist() == [2] * 5


@pytest.mark.cpu_code("memory beside that of arrays")
@pytest.mark.parametrize("place", [-8, 5 * 8])
def test_what_is_written_beside_arrays_is_noticed(place: int) -> None:
    ti.init(arch=ti.cpu, debug=True)
    x, y = (ti.ndarray(ti.f64, 5, needs_grad=True) for _ in range(2))

    @ti.kernel
    def run(a: ti.types.ndarray(), b: ti.types.ndarray()):
        for i in b:
            b[i] += a[i] + 1

    run(x, y)
    for one, name in ((x, "a"), (y.grad, "b.grad")):
        ctypes.memset(one.address + place, 1, 8)
        with pytest.raises(
            ti.TaichiAssertionError, match=f"memory next to '{name}' was overwritten"
        ):
            run(x, y)
    run(x, y)
    assert y.to_numpy().tolist() == [4] * 5 and x.to_numpy().tolist() == [0] * 5


@pytest.mark.cpu_code("memory beside that of fields")
@pytest.mark.parametrize("place", [-4, 64 * 4])
def test_what_is_written_beside_sparse_fields_is_noticed(place: int) -> None:
    """They keep what they hold, and pages that nobody wrote to are not committed."""
    ti.init(arch=ti.cpu, debug=True)
    x = ti.field(ti.f32)
    ti.root.pointer(ti.i, 8).dense(ti.i, 8).place(x)

    @ti.kernel
    def run():
        for i in x:
            x[i] += 1

    x[9] = 2
    run()
    ctypes.memset(x.memory.address + place, 1, 4)
    with pytest.raises(ti.TaichiAssertionError, match="memory next to 'x' was overwritten"):
        run()
    run()
    assert x[9] == 5 and x.to_numpy().sum() == 5 + 7 * 3
    ti.deactivate_all_snodes()
    run()
    assert not x.to_numpy().any()
