"""Parts of fields and ndarrays in Python scope."""

from typing import Any

import numpy as np
import pytest

import mlirad as ti

KEYS: list[Any] = [
    slice(2, 5),
    slice(None),
    slice(None, None, -2),
    slice(5, 2),
    (slice(1, 4), 3),
    (2, slice(None)),
    (slice(-3, None), slice(0, 5, 2)),
    (1, ...),
    ...,
]


def flat(dtype: Any) -> Any:
    return ti.field(dtype, (6, 5))


def nested(dtype: Any) -> Any:
    x = ti.field(dtype)
    ti.root.dense(ti.ij, (2, 5)).dense(ti.i, 3).place(x)
    return x


def array(dtype: Any) -> Any:
    return ti.ndarray(dtype, (6, 5))


def vectors(dtype: Any) -> Any:
    return ti.Vector.field(2, dtype, (6, 5))


MAKERS = [flat, nested, array, vectors]


@pytest.fixture(autouse=True)
def program() -> None:
    ti.init(default_fp=ti.f64)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("key", KEYS, ids=str)
def test_parts_are_those_of_numpy(make: Any, key: Any) -> None:
    x = make(ti.f64)
    values = np.arange(float(np.prod(x.to_numpy().shape))).reshape(x.to_numpy().shape)
    x.from_numpy(values)
    np.testing.assert_array_equal(x[key], values[key])
    part = -1 - values[key] ** 2
    for new in (part, 7.0):
        values[key] = new
        x[key] = new
        np.testing.assert_array_equal(x.to_numpy(), values)


@pytest.mark.parametrize("make", [flat, nested])
def test_parts_are_constants_for_a_tape(make: Any) -> None:
    x, y, loss = make(ti.f64), make(ti.f64), ti.field(ti.f64, ())
    ti.root.lazy_grad()

    @ti.kernel
    def square():
        for i, j in x:
            y[i, j] = x[i, j] ** 2

    @ti.kernel
    def add():
        for i, j in y:
            loss[None] += y[i, j]

    x.fill(3)
    with pytest.warns(UserWarning, match="y"), ti.ad.Tape(loss):
        square()
        y[1:3, 2] = 5
        add()
    expected = np.full((6, 5), 6.0)
    expected[1:3, 2] = 0
    np.testing.assert_array_equal(x.grad.to_numpy(), expected)
    assert loss[None] == 28 * 9 + 2 * 5


def test_offsets_are_where_indices_begin() -> None:
    x = ti.field(ti.i32, shape=6, offset=-2)
    x.from_numpy(np.arange(6))
    assert x[-2:1].tolist() == [0, 1, 2] and x[2:].tolist() == [4, 5] and x[-9:-1].tolist() == [0]
    x[-1:1] = [8, 9]
    assert x.to_numpy().tolist() == [0, 8, 9, 3, 4, 5]


def test_parts_that_there_are_not() -> None:
    x = flat(ti.i32)
    with pytest.raises(ti.TaichiIndexError, match="index 6 is out of bounds"):
        x[6, :]
    with pytest.raises(ti.TaichiIndexError, match="3 indices"):
        x[:, :, 0]
    with pytest.raises(ValueError, match="broadcast"):
        x[2:5] = [1, 2, 3]
    with pytest.raises(ti.TaichiRuntimeTypeError, match="does not fit"):
        x[2:5] = 1 << 40
