"""Functions of elements where they are all but constant, or all but linear: results and
derivatives are as exact, relative to what they are, as elsewhere."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from te.derivatives import given

import mlirad as ti
from mlirad import te

Function = Callable[[float], float]
LARGE, SMALL = np.array([30.0, 60.0, 100.0]), np.array([-25.0, -50.0, -86.0])
CASES: dict[str, tuple[Function, Function, Function, Function]] = {  # small, large: value, slope
    "sigmoid": (np.exp, np.exp, np.ones_like, lambda x: np.exp(-x)),
    "softplus": (np.exp, np.exp, lambda x: x, np.ones_like),
    "log_sigmoid": (lambda x: x, np.ones_like, lambda x: -np.exp(-x), lambda x: np.exp(-x)),
    "silu": (lambda x: x * np.exp(x), lambda x: (1 + x) * np.exp(x), lambda x: x, np.ones_like),
    "mish": (lambda x: x * np.exp(x), lambda x: (1 + x) * np.exp(x), lambda x: x, np.ones_like),
    "elu": (lambda x: -np.ones_like(x), np.exp, lambda x: x, np.ones_like),
    "gelu": (lambda x: 0 * x, lambda x: 0 * x, lambda x: x, np.ones_like),
}


@pytest.mark.parametrize("fast_math", [True, False])
def test_far_from_zero(fast_math: bool) -> None:
    ti.init(default_fp=ti.f32, fast_math=fast_math)
    x, ones = given(6, dtype=ti.f32), given(6, name="ones", dtype=ti.f32)
    outputs = [getattr(te.nn, name)(x) for name in CASES]
    slopes = [te.differentiate(y, [x], ones)[0] for y in outputs]
    values = np.concatenate([SMALL, LARGE]).astype(np.float32)
    found = te.build([*outputs, *slopes], [x, ones])(values, np.ones(6, np.float32))
    for number, (name, (low, low_slope, high, high_slope)) in enumerate(CASES.items()):
        for array, functions in (
            (found[number], (low, high)),
            (found[len(CASES) + number], (low_slope, high_slope)),
        ):
            wanted = np.concatenate([functions[0](SMALL), functions[1](LARGE)])
            smallest = np.finfo(np.float32).tiny  # below which digits are lost
            np.testing.assert_allclose(array, wanted, 2e-5, smallest, err_msg=name)


def test_logarithms_near_one() -> None:
    ti.init(default_fp=ti.f64)
    values = np.array([1e-18, -1e-12, 1e-6, 0.0, 3.0])
    x = given(5)
    y = te.compute((5,), lambda i: te.log1p(x[i]))
    step = te.build([y, te.compute((5,), lambda i: te.expm1(x[i]))], [x])
    logarithm, less_one = step(values)
    np.testing.assert_allclose(logarithm, np.log1p(values), 1e-14)
    np.testing.assert_allclose(less_one, np.expm1(values), 1e-14)
