"""Launches on arrays like the ones before, of which little is looked at: whatever is different
about an array is seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlirad as ti
from mlirad.lang.kernels.kernel import Kernel

ARRAY = ti.types.ndarray()


@pytest.fixture(autouse=True)
def program() -> Any:
    """A program."""
    ti.init(cpu_max_num_threads=1)
    yield
    ti.reset()


@ti.kernel
def double(a: ti.types.ndarray()) -> ti.f32:
    for i in ti.grouped(a):
        a[i] *= 2
    return a.shape[0]


@ti.kernel
def add(a: ti.types.ndarray(), b: ti.types.ndarray(), scale: ti.f32):
    for i in a:
        a[i] += b[i] * scale


def prepared(*values: np.ndarray) -> None:
    """Launch until nothing is looked up."""
    for value in values:
        for _ in range(3):
            double(value)


def is_ready(kernel: Kernel, *args: Any) -> bool:
    """Whether a launch would look little up."""
    return kernel._ready is not None and kernel._ready.arrays(args) is not None


def test_numpy_arrays_of_any_place_and_size() -> None:
    """Another array, and one that was made larger in place."""
    prepared(np.zeros(4, np.float32))
    for size in (4, 7, 1):
        array = np.arange(size, dtype=np.float32)
        assert is_ready(double, array)
        assert double(array) == size
        np.testing.assert_array_equal(array, 2 * np.arange(size))
    array.resize(100, refcheck=False)
    array[:] = 1
    assert double(array) == 100
    assert (array == 2).all()


@pytest.mark.parametrize(
    "other",
    [
        np.ones(4),
        np.ones((2, 2), np.float32),
        np.ones(8, np.float32)[::2],
        np.ones((3, 3), np.float32)[:, 0],
        np.ones((3, 3), np.float32).T,
        np.ones(4, np.int32),
        np.ones(0, np.float32),
        np.ones(4, np.float32).astype(">f4").astype("<f4"),
        np.ones(4, np.float32).view(np.recarray),
    ],
)
def test_other_arrays(other: np.ndarray) -> None:
    """Of another type, shape or layout, or none of NumPy's own."""
    prepared(np.zeros(4, np.float32))
    before = other.copy()
    double(other)
    np.testing.assert_array_equal(other, 2 * before)


def test_an_array_that_became_read_only() -> None:
    """The kernel may not write to it."""
    array = np.ones(4, np.float32)
    prepared(array)
    array.flags.writeable = False
    with pytest.raises(ti.TaichiRuntimeTypeError, match="read-only"):
        double(array)
    assert (array == 8).all()


def test_ndarrays_beside_numpy_arrays() -> None:
    """One variant serves both."""
    prepared(np.zeros(4, np.float32))
    mine = ti.ndarray(ti.f32, 5)
    mine.fill(3)
    assert is_ready(double, mine)
    assert double(mine) == 5
    assert (mine.to_numpy() == 6).all()
    graded = ti.ndarray(ti.f32, 5, needs_grad=True)
    graded.fill(1)
    assert not is_ready(double, graded)
    double(graded)
    assert (graded.to_numpy() == 2).all()


def test_ndarrays_of_an_ended_program() -> None:
    """They are refused, also behind launches on others."""
    ended = ti.ndarray(ti.f32, 4)
    ti.init(cpu_max_num_threads=1)
    prepared(np.zeros(4, np.float32))
    with pytest.raises(ti.TaichiRuntimeError, match=r"program that ti\.init"):
        double(ended)


def test_vectors() -> None:
    """The extents of an element belong to the type."""

    @ti.kernel
    def sums(a: ti.types.ndarray(dtype=ti.types.vector(2, ti.f32), ndim=1)) -> ti.f32:
        total = 0.0
        for _ in range(1):
            for i in range(a.shape[0]):
                total += a[i][0] - a[i][1]
        return total

    array = np.array([[3, 1], [5, 2]], np.float32)
    for _ in range(3):
        assert sums(array) == 5
    assert is_ready(sums, array)
    with pytest.raises(ti.TaichiRuntimeTypeError):
        sums(np.ones((2, 3), np.float32))


def test_arrays_that_share_memory() -> None:
    """The same array twice is one; arrays that overlap are refused."""
    long = np.ones(8, np.float32)
    for _ in range(3):
        add(long[:4], long[4:], 1.0)
    assert is_ready(add, long[:4], long[4:], 1.0)
    np.testing.assert_array_equal(long, [4, 4, 4, 4, 1, 1, 1, 1])
    assert not is_ready(add, long, long, 1.0)
    add(long, long, 1.0)
    np.testing.assert_array_equal(long, [8, 8, 8, 8, 2, 2, 2, 2])
    with pytest.raises(ti.TaichiRuntimeTypeError, match="overlap"):
        add(long[:5], long[3:], 1.0)
    mine = ti.ndarray(ti.f32, 4)
    mine.fill(1)
    add(mine, mine, 2.0)
    assert (mine.to_numpy() == 3).all()


VECTORS = ti.types.ndarray(dtype=ti.types.vector(2, ti.f32), ndim=1)
SCALARS = ti.types.ndarray(dtype=ti.f32, ndim=2)


@pytest.mark.parametrize(
    ("one", "other", "views"),
    [
        (ARRAY, ARRAY, (np.float32, np.int32)),
        (ARRAY, ARRAY, (np.int32, np.uint32)),
        (ARRAY, ARRAY, (np.float32, np.float16)),
        (VECTORS, SCALARS, (np.float32, np.float32)),
        (SCALARS, VECTORS, (np.float32, np.float32)),
        (ARRAY, ti.types.ndarray(boundary="clamp"), (np.float32, np.float32)),
        (ti.types.ndarray(needs_grad=False), ARRAY, (np.float32, np.float32)),
    ],
)
def test_one_memory_in_two_forms(one: Any, other: Any, views: tuple[Any, Any]) -> None:
    """Refused, also after launches on arrays that are apart; the same form twice is one array."""

    @ti.kernel
    def launch(a: one, b: other) -> ti.i32:
        return a.shape[0] + b.shape[0]

    array = np.zeros((4, 2), np.float32)
    first, second = (array.view(dtype) for dtype in views)
    for _ in range(3):
        assert launch(first, second.copy()) == 8
    for given in ((first, second), (first[::2], second[::2])):
        with pytest.raises(ti.TaichiRuntimeTypeError, match=r"in two forms|overlap in memory"):
            launch(*given)
    if one is other:
        assert launch(first, first) == 8


def test_numbers_beside_arrays() -> None:
    """One that needs a conversion gets it, one that is none is refused."""
    a, b = np.zeros(2, np.float32), np.ones(2, np.float32)
    for scale in (0.5, 0.5, 1, np.float64(2)):
        add(a, b, scale)
    np.testing.assert_array_equal(a, [4, 4])
    with pytest.raises(ti.TaichiRuntimeTypeError):
        add(a, b, "1")
    with pytest.raises(ti.TaichiSyntaxError):
        add(a, b)
    add(a, scale=1.0, b=b)
    np.testing.assert_array_equal(a, [5, 5])


def test_tapes_see_them() -> None:
    """A launch in a tape is recorded, whatever was launched before."""
    x = ti.ndarray(ti.f32, 3, needs_grad=True)
    loss = ti.field(ti.f32, (), needs_grad=True)

    @ti.kernel
    def squares(a: ti.types.ndarray()):
        for i in a:
            loss[None] += a[i] ** 2

    x.from_numpy(np.array([1, 2, 3], np.float32))
    for _ in range(3):
        squares(x)
    assert is_ready(squares, x)
    loss[None] = 0
    with ti.ad.Tape(loss):
        squares(x)
    np.testing.assert_array_equal(x.grad.to_numpy(), [2, 4, 6])


def test_methods() -> None:
    """The object is no array."""

    @ti.data_oriented
    class Scale:
        def __init__(self, factor: float) -> None:
            self.factor = factor

        @ti.kernel
        def run(self, a: ti.types.ndarray(), times: ti.i32):
            for i in a:
                a[i] *= self.factor * times

    array, scale = np.ones(3, np.float32), Scale(2.0)
    for _ in range(3):
        scale.run(array, 1)
    assert is_ready(scale.run, array, 1)
    assert (array == 8).all()
