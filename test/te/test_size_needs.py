"""Sizes of a call under which a read would be out of bounds are refused before anything is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad as ti
from mlirad import te
from mlirad.errors import TaichiRuntimeTypeError


@pytest.fixture(autouse=True)
def _program() -> None:
    ti.init(opt_level=1)


def ones(*shape: int) -> np.ndarray[Any, Any]:
    return np.ones(shape, np.float32)


def test_another_size() -> None:
    n, m = te.var("n"), te.var("m")
    x, w = te.placeholder((n,), name="x"), te.placeholder((m,), name="w")
    y = te.compute((n,), lambda i: x[i] * w[i])
    f = te.build(y, [x, w])
    np.testing.assert_array_equal(f(ones(3), ones(5)), 1)
    assert f(ones(0), ones(0)).shape == (0,)
    with pytest.raises(TaichiRuntimeTypeError, match=r"index 0 of tensor 'w' is out of bounds"):
        f(ones(4), ones(3))
    with pytest.raises(TaichiRuntimeTypeError, match=r"test_size_needs.py:\d+:\d+: .*m = 3, n"):
        f(ones(4), ones(3))


def test_derivatives_read_the_same() -> None:
    n, m = te.var("n"), te.var("m")
    x, w, head = (te.placeholder((k,), name=k.name[0] + "s") for k in (n, m, n))
    y = te.compute((n,), lambda i: x[i] * w[i])
    (dx,) = te.differentiate(y, [x], head)
    slope = te.jvp(y, [x], [head])
    for one in (dx, slope):
        f = te.build(one, [w, head])
        np.testing.assert_array_equal(f(ones(5), ones(4)), 1)
        with pytest.raises(TaichiRuntimeTypeError, match="out of bounds"):
            f(ones(3), ones(4))


def test_windows_and_sums() -> None:
    n, m = te.var("n"), te.var("m")
    x, k = te.placeholder((n,), name="x"), te.reduce_axis(3)
    y = te.compute((m,), lambda i: te.sum(x[i + k], axis=k))
    v = te.placeholder((m,), name="v")
    f = te.build(te.compute((m,), lambda i: y[i] * v[i]), [x, v])
    np.testing.assert_array_equal(f(ones(6), ones(4)), 3)
    np.testing.assert_array_equal(f(ones(0), ones(0)), 0)
    with pytest.raises(TaichiRuntimeTypeError, match=r"m = 5, n = 6"):
        f(ones(6), ones(5))
    backwards = te.build(te.compute((4,), lambda i: x[n - 1 - i]), [x])
    np.testing.assert_array_equal(backwards(ones(4)), 1)
    with pytest.raises(TaichiRuntimeTypeError, match=r"n = 3"):
        backwards(ones(3))


def test_what_a_condition_guards_is_not_asked_for() -> None:
    n, m = te.var("n"), te.var("m")
    x, w = te.placeholder((n,), name="x"), te.placeholder((m,), name="w")
    f = te.build(te.compute((n,), lambda i: x[i] + te.select(i < m, w[i], 2.0)), [x, w])
    np.testing.assert_array_equal(f(ones(3), ones(2)), [2, 2, 3])


READS: dict[str, Callable[[te.Tensor, te.Tensor, Any], Any]] = {
    "the first one": lambda x, rows, i: x[0],
    "the last one": lambda x, rows, i: x[x.shape[0] - 1],
    "by data": lambda x, rows, i: x[rows[i]],
    "over and over": lambda x, rows, i: x[i % x.shape[0]],
}


@pytest.mark.parametrize("name", READS)
def test_what_is_read_has_elements(name: str) -> None:
    n, m = te.var("n"), te.var("m")
    x, rows = te.placeholder((n,), name="x"), te.placeholder((m,), ti.i32, "rows")
    f = te.build(te.compute((m,), lambda i: READS[name](x, rows, i) + rows[i]), [x, rows])
    none, two = np.zeros(0, np.int32), np.zeros(2, np.int32)
    np.testing.assert_array_equal(f(ones(3), two), 1)
    assert f(ones(0), none).shape == (0,)
    with pytest.raises(TaichiRuntimeTypeError, match=r"index 0 of tensor 'x' .* for n = 0"):
        f(ones(0), two)


def test_what_a_sum_over_nothing_does_not_read() -> None:
    n = te.var("n")
    x, y, k = te.placeholder((n,), name="x"), te.placeholder((n,), name="y"), te.reduce_axis(n)
    made = te.compute((2,), lambda i: te.sum(x[0] * y[k] + x[k % n], axis=k))
    f = te.build(made, [x, y])
    np.testing.assert_array_equal(f(ones(0), ones(0)), 0)
    np.testing.assert_array_equal(f(ones(3), ones(3)), 6)
