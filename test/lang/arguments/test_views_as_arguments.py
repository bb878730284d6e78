"""Arrays that show the memory of fields, as arguments of kernels that use these fields too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlirad as ti
from mlirad.errors import TaichiRuntimeTypeError

N = 16
pytestmark = pytest.mark.usefixtures("f64")


def field(**options: Any) -> Any:
    found = ti.field(ti.f64, N, **options)
    found.from_numpy(np.arange(N, dtype=np.float64))
    return found


@pytest.mark.cpu_code("memory that NumPy sees")
def test_of_a_field_that_is_written() -> None:
    """Refused each time, and not where a copy is passed; so is a part of the field."""
    x = field()

    @ti.kernel
    def shift(a: ti.types.ndarray()):
        ti.loop_config(serialize=True)
        for i in range(1, a.shape[0]):
            x[i] = a[i - 1] + 1

    shift(np.asarray(x).copy())
    np.testing.assert_array_equal(x.to_numpy(), np.arange(N))
    for view in (np.asarray(x), np.from_dlpack(x), np.asarray(x)[4:], np.asarray(x)):
        with pytest.raises(
            TaichiRuntimeTypeError, match=r"_arguments\.py:\d+.*shares memory with field"
        ):
            shift(view)
    np.testing.assert_array_equal(x.to_numpy(), np.arange(N))


@pytest.mark.cpu_code("memory that NumPy sees")
def test_of_a_field_that_is_read() -> None:
    x, y = field(needs_grad=True), field(needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def multiply(a: ti.types.ndarray()):
        for i in x:
            y[i] = a[i] * x[i]

    @ti.kernel
    def add(a: ti.types.ndarray()):
        for i in x:
            loss[None] += a[i] * x[i]

    multiply(np.asarray(x))
    np.testing.assert_array_equal(y.to_numpy(), np.arange(N) ** 2.0)
    x.grad.from_numpy(np.ones(N))
    add(np.asarray(x.grad))
    assert loss[None] == np.arange(N).sum()
    with (
        pytest.raises(
            TaichiRuntimeTypeError,
            match=r"_arguments\.py:\d+.*field '.*\.grad', which a derivative",
        ),
        pytest.warns(UserWarning, match="read it after the block"),
        ti.ad.Tape(loss),
    ):
        add(np.asarray(x.grad))


def test_of_a_field_among_others() -> None:
    """Its neighbours in a cell are other elements."""
    x, y = ti.field(ti.f64), ti.field(ti.f64)
    ti.root.dense(ti.i, N).place(x, y)
    y.from_numpy(np.arange(N, dtype=np.float64))

    @ti.kernel
    def double(a: ti.types.ndarray()):
        for i in x:
            x[i] = 2 * a[i]

    double(np.asarray(y))
    np.testing.assert_array_equal(x.to_numpy(), 2.0 * np.arange(N))
