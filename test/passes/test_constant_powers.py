"""Powers of constant exponents: products where that is as exact as the library."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mlirad as ti

EXPONENTS = [1.5, 2.5, 3.5, 2, 3, 4, 5, 6, 0.5, -0.5, -1, -2, -3, -4, -1.5, -2.5, 1.75]


@pytest.fixture(autouse=True, params=["f32", "f64"])
def dtype(request: pytest.FixtureRequest) -> Iterator[Any]:
    ti.init(default_fp=getattr(ti, request.param), cpu_max_num_threads=1)
    yield np.dtype(request.param.replace("f", "float"))
    ti.reset()


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_values_and_derivatives(exponent: float, dtype: Any) -> None:
    """At most four units in the last place, of a power and of its derivative's power; negative
    numbers, 0 and infinity are as in C."""
    small = np.exp(np.random.default_rng(2).uniform(-8, 8, 2000)).astype(dtype)
    special = np.array([0.0, np.inf, np.nan, -1.5, -3.0], dtype)
    numbers = np.concatenate([small, special])
    x, y = (ti.field(float, numbers.size, needs_grad=True) for _ in range(2))
    loss = ti.field(float, (), needs_grad=True)
    x.from_numpy(numbers)

    @ti.kernel
    def raise_all():
        for i in x:
            y[i] = x[i] ** exponent

    @ti.kernel
    def total():
        for i in range(small.size):
            loss[None] += x[i] ** exponent

    raise_all()
    wide = numbers.astype(np.longdouble)
    with np.errstate(all="ignore"):
        wanted = wide ** np.longdouble(exponent)
        error = np.abs(y.to_numpy() - wanted) / np.spacing(np.abs(wanted.astype(dtype)))
    assert error[: small.size].max() <= 4
    np.testing.assert_allclose(
        y.to_numpy()[small.size :].astype(float), wanted[small.size :].astype(float), rtol=1e-6
    )
    with ti.ad.Tape(loss):
        total()
    slope = exponent * wide[: small.size] ** np.longdouble(exponent - 1)
    np.testing.assert_allclose(
        x.grad.to_numpy()[: small.size], slope.astype(dtype), rtol=10 * np.finfo(dtype).eps
    )
