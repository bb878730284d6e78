"""Every function of the table in tensor expressions: values, derivatives of first and second order,
against NumPy, and at the ends of the domain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from frontend.elementary_references import REFERENCES, SPECIAL, Array, points_of
from te.derivatives import check, given

import mlirad as ti
from mlirad import te

MACHINES = {
    "scalar": {"cpu_max_num_threads": 1, "fast_math": False},
    "lanes": {"cpu_max_num_threads": 1, "lanes": 8},
    "simt": {"arch": ti.simt},
}


def results(name: str, dtype: Any, points: Array) -> tuple[Array, Array, Array]:
    """The value, and its adjoint and its tangent for 1."""
    n = len(points)
    x, head = given(n, dtype=dtype), given(n, dtype=dtype, name="head")
    y = te.compute((n,), lambda i: getattr(te, name)(x[i]))
    outputs = [y, *te.differentiate(y, [x], head=head), te.jvp(y, [x], [head])]
    return tuple(te.build(outputs, [x, head])(points, np.ones(n, dtype.numpy)))


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("dtype", [ti.f32, ti.f64], ids=str)
@pytest.mark.parametrize("name", REFERENCES)
def test_values_and_derivatives(name: str, dtype: Any, machine: str) -> None:
    ti.init(**MACHINES[machine])
    points = np.resize(points_of(name), 40).astype(dtype.numpy)
    exact, first, _ = (f(points.astype(np.float64)) for f in REFERENCES[name])
    near = {"rtol": 1e-12, "atol": 1e-300} if dtype == ti.f64 else {"rtol": 3e-5, "atol": 1e-37}
    for found, reference in zip(results(name, dtype, points), (exact, first, first)):
        np.testing.assert_allclose(found, reference, **near)


@pytest.mark.parametrize("name", REFERENCES)
def test_second_derivatives(name: str) -> None:
    ti.init(default_fp=ti.f64)
    points = points_of(name)
    points = points[(np.abs(points) > 1e-6) & (np.abs(points) < 1e6)]
    n = len(points)
    x, direction = given(n), given(n, name="direction")
    k = te.reduce_axis(n)
    total = te.compute((), lambda: te.sum(getattr(te, name)(x[k]), axis=k))
    (found,) = te.build(te.hvp(total, [x], [direction]), [x, direction])(points, np.ones(n))
    np.testing.assert_allclose(found, REFERENCES[name][2](points), rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("name", REFERENCES)
def test_ends_of_the_domain(name: str) -> None:
    ti.init(default_fp=ti.f64)
    with np.errstate(all="ignore"):
        exact, first, _ = (f(SPECIAL) for f in REFERENCES[name])
    for found, reference in zip(results(name, ti.f64, SPECIAL), (exact, first, first)):
        np.testing.assert_allclose(found, reference, rtol=1e-14)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", ["hypot", "copysign", "atan2"])
def test_functions_of_two_arguments(name: str, machine: str) -> None:
    ti.init(default_fp=ti.f64, **MACHINES[machine])
    function = getattr(te, name)
    a, b = given(5, 4, name="a"), given(5, 4, name="b")
    smooth = te.compute((5, 4), lambda i, j: function(a[i, j], b[i, j]) * a[i, j])
    check(smooth, [a, b], second=True)
    of_a_number = te.compute((5, 4), lambda i, j: function(a[i, j] * 2, 3) + function(1.5, b[i, j]))
    check(of_a_number, [a, b])


def test_a_hypotenuse_on_the_axes() -> None:
    """Where a square overflows, and at (0, 0)."""
    ti.init(default_fp=ti.f64)
    a, b, head = (given(6, name=name) for name in "abh")
    y = te.compute((6,), lambda i: te.hypot(a[i], b[i]))
    first = np.array([0.0, 3.0, 0.0, 3e200, np.inf, 2.0])
    second = np.array([0.0, 0.0, -2.0, -4e200, np.nan, -2.0])
    outputs = [y, *te.differentiate(y, [a, b], head=head)]
    value, slope, other = te.build(outputs, [a, b, head])(first, second, np.ones(6))
    np.testing.assert_allclose(value, [0, 3, 2, 5e200, np.inf, 8**0.5], rtol=1e-15)
    np.testing.assert_allclose(slope[[0, 1, 2, 3, 5]], [0, 1, 0, 0.6, 0.5**0.5], rtol=1e-15)
    np.testing.assert_allclose(other[[0, 1, 2, 3, 5]], [0, 0, -1, -0.8, -(0.5**0.5)], rtol=1e-15)
