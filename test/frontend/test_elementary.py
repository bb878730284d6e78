"""Every function of the table: values, and first and second derivatives, against NumPy, on every
machine and at the ends of the domain."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from frontend.elementary_references import REFERENCES, SPECIAL, Array, points_of

import mlirad as ti
from mlirad import te
from mlirad.ir.elementary.operators import ROUNDINGS
from mlirad.ir.elementary.table import ELEMENTARY, EXPANSIONS, FUNCTIONS

ROWS = {row.name: row for row in ELEMENTARY}
MACHINES = {
    "scalar": {"cpu_max_num_threads": 1, "fast_math": False},
    "lanes": {"cpu_max_num_threads": 1, "lanes": 8},
    "simt": {"arch": ti.simt},
}


def near(dtype: Any) -> dict[str, float]:
    """How far results may be off: some units in the last place, more where a formula's terms
    cancel."""
    return {"rtol": 1e-12, "atol": 1e-300} if dtype == ti.f64 else {"rtol": 3e-5, "atol": 1e-37}


def applied(name: str, dtype: Any, points: Array) -> tuple[Any, Any, Any]:
    """Fields of points and of the function there, and the kernel between them."""
    x, y = (ti.field(dtype, len(points), needs_grad=True, needs_dual=True) for _ in range(2))
    function = getattr(ti, name)
    x.from_numpy(points.astype(dtype.numpy))

    @ti.kernel
    def run():
        for i in x:
            y[i] = function(x[i])

    return x, y, run


def results(name: str, dtype: Any, points: Array) -> tuple[Array, Array, Array]:
    """Values, and derivatives in reverse and in forward mode."""
    x, y, run = applied(name, dtype, points)
    y.grad.fill(1.0)
    run()
    run.grad()
    with ti.ad.FwdMode(loss=y, param=x, seed=[1.0] * len(points)):
        run()
    return y.to_numpy(), x.grad.to_numpy(), y.dual.to_numpy()


def test_every_function_is_public_in_both_frontends() -> None:
    for name, row in ROWS.items():
        for function in (getattr(ti, name), getattr(ti.math, name), getattr(te, name)):
            assert function.__name__ == name
            assert str(inspect.signature(function)).startswith(f"({row.parameters}, /")
            assert row.sentence in function.__doc__
    for row in ROUNDINGS:
        name = row.name.removesuffix("even")
        assert getattr(ti, name).__name__ == getattr(te, name).__name__ == name
    assert set(REFERENCES) == {row.name for row in ELEMENTARY if row.arity == 1}
    assert set(EXPANSIONS) == {row.name for row in ELEMENTARY if not row.op}
    assert all(op == row.op and len(row.derivative) == row.arity for op, row in FUNCTIONS.items())


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("dtype", [ti.f32, ti.f64], ids=str)
@pytest.mark.parametrize("name", REFERENCES)
def test_values_and_derivatives(name: str, dtype: Any, machine: str) -> None:
    ti.init(default_fp=dtype, **MACHINES[machine])
    points = np.resize(points_of(name), 40).astype(dtype.numpy)  # enough for lanes
    value, slope, tangent = results(name, dtype, points)
    exact, first, _ = (f(points.astype(np.float64)) for f in REFERENCES[name])
    np.testing.assert_allclose(value, exact, **near(dtype))
    np.testing.assert_allclose(slope, first, **near(dtype))
    np.testing.assert_allclose(tangent, first, **near(dtype))


@pytest.mark.parametrize("dtype", [ti.f32, ti.f64], ids=str)
@pytest.mark.parametrize("name", REFERENCES)
def test_second_derivatives(name: str, dtype: Any) -> None:
    ti.init(default_fp=dtype)
    function = getattr(ti, name)

    @ti.func
    def f(x):
        return function(x)

    second = ti.ad.grad(ti.ad.grad(f))
    points = points_of(name).astype(dtype.numpy)
    if dtype == ti.f32:
        points = points[(np.abs(points) < 1e10) & (np.abs(points) > 1e-10)]
    y = ti.field(dtype, len(points))

    @ti.kernel
    def run(x: ti.types.ndarray(dtype, 1)):
        for i in y:
            y[i] = second(x[i])

    run(points)
    exact = REFERENCES[name][2](points.astype(np.float64))
    tolerance = {"rtol": 1e-9, "atol": 1e-280} if dtype == ti.f64 else {"rtol": 2e-3, "atol": 1e-6}
    np.testing.assert_allclose(y.to_numpy(), exact, **tolerance)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", REFERENCES)
def test_ends_of_the_domain(name: str, machine: str) -> None:
    """At 0, at 1, at infinities and NaN the value and the derivative are those of the formulas,
    infinities and NaNs too."""
    ti.init(default_fp=ti.f64, **MACHINES[machine])
    value, slope, tangent = results(name, ti.f64, SPECIAL)
    with np.errstate(all="ignore"):
        exact, first, _ = (f(SPECIAL) for f in REFERENCES[name])
    np.testing.assert_allclose(value, exact, rtol=1e-14)
    np.testing.assert_allclose(slope, first, rtol=1e-14)
    np.testing.assert_allclose(tangent, first, rtol=1e-14)


# of two arguments


def pairs_of(name: str) -> tuple[Array, Array]:
    """Points of all quadrants, near the axes and far from the origin."""
    first = np.array([3.0, -3.0, 1e-8, -0.7, 2.0, 2.0, -2.0, 1e200, -1e-200, 5.0, 0.3])
    second = np.array([4.0, 0.2, -2.0, -1.1, 2.0, -2.0, 2.0, -2e200, 3e-200, 1e-9, 12.0])
    return (first, second) if name == "hypot" else (first[:7], second[:7])


def of_two(name: str, first: Array, second: Array) -> tuple[Array, Array, Array]:
    """Values, and derivatives in both arguments."""
    n = len(first)
    a, b, c = (ti.field(ti.f64, n, needs_grad=True) for _ in range(3))
    function = getattr(ti, name)
    a.from_numpy(first)
    b.from_numpy(second)

    @ti.kernel
    def run():
        for i in a:
            c[i] = function(a[i], b[i])

    c.grad.fill(1.0)
    run()
    run.grad()
    return c.to_numpy(), a.grad.to_numpy(), b.grad.to_numpy()


def signs(x: Array, y: Array) -> Array:
    return np.sign(x) * np.where(np.signbit(y), -1.0, 1.0)


# the function, and its derivatives in the first and the second argument
OF_TWO: dict[str, Any] = {
    "atan2": (
        np.arctan2,
        lambda y, x: x / (x * x + y * y),
        lambda y, x: -y / (x * x + y * y),
    ),
    "copysign": (np.copysign, signs, lambda x, y: 0 * x),
    "hypot": (np.hypot, lambda x, y: x / np.hypot(x, y), lambda x, y: y / np.hypot(x, y)),
}


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", OF_TWO)
def test_functions_of_two_arguments(name: str, machine: str) -> None:
    assert set(OF_TWO) == {row.name for row in ELEMENTARY if row.arity == 2}
    ti.init(default_fp=ti.f64, **MACHINES[machine])
    points = [np.resize(p, 40) for p in pairs_of(name)]
    for found, reference in zip(of_two(name, *points), OF_TWO[name]):
        np.testing.assert_allclose(found, reference(*points), rtol=1e-14)


@pytest.mark.parametrize("machine", MACHINES)
def test_hypotenuses_at_the_ends(machine: str) -> None:
    """Infinite beside anything, also NaN; at (0, 0) its derivatives are 0, as that of `abs`."""
    ti.init(default_fp=ti.f64, **MACHINES[machine])
    ends = np.array([0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan, 1.7e308])
    first, second = (axis.ravel() for axis in np.meshgrid(ends, ends))
    value, slope, other = of_two("hypot", first, second)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(value, np.hypot(first, second), rtol=1e-15)
    origin, finite = (first == 0) & (second == 0), np.isfinite(first) & np.isfinite(second)
    np.testing.assert_array_equal(slope[origin], 0.0)
    np.testing.assert_array_equal(other[origin], 0.0)
    smooth = finite & ~origin & np.isfinite(value)
    np.testing.assert_allclose(slope[smooth], first[smooth] / value[smooth], rtol=1e-15)
    np.testing.assert_allclose(other[smooth], second[smooth] / value[smooth], rtol=1e-15)


@pytest.mark.parametrize("at", [(3.0, 4.0), (-0.0, 2.0), (2.0, 0.0), (1.5, -1.5), (-3.0, -1.0)])
def test_hessian_of_a_hypotenuse(at: tuple[float, float]) -> None:
    """On the axes and on the diagonals too, where the parts of its formula change places."""
    ti.init(default_fp=ti.f64)
    x, loss = ti.field(ti.f64, 2, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)
    x.from_numpy(np.array(at))

    @ti.kernel
    def run():
        loss[None] = ti.hypot(x[0], x[1])

    a, b = at
    exact = np.array([[b * b, -a * b], [-a * b, a * a]]) / np.hypot(a, b) ** 3
    found = ti.ad.hessian(run, loss=loss, wrt=x)
    np.testing.assert_allclose(found, exact, rtol=1e-13, atol=1e-16)


@pytest.mark.parametrize("name", REFERENCES)
def test_hessians_along_vectors(name: str) -> None:
    """Forward over reverse, of a sum of functions of products."""
    ti.init(default_fp=ti.f64)
    function = getattr(ti, name)
    points = points_of(name)
    points = points[(np.abs(points) > 1e-6) & (np.abs(points) < 1e6)]
    n = len(points)
    x, loss = ti.field(ti.f64, n, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)
    x.from_numpy(points)

    @ti.kernel
    def run():
        for i in x:
            loss[None] += function(x[i])

    bend = REFERENCES[name][2](points)
    np.testing.assert_allclose(
        ti.ad.hessian(run, loss=loss, wrt=x), np.diag(bend), rtol=1e-9, atol=1e-14
    )


@pytest.mark.parametrize("name", [name for name in REFERENCES if name not in ("erf", "erfc")])
def test_complex_step(name: str) -> None:
    """The references of this file, by NumPy's functions of complex numbers."""
    points = points_of(name)
    step = 1e-30
    complex_ = {"cbrt": lambda z: np.sign(z.real) * (z * np.sign(z.real)) ** (1 / 3)}
    value = complex_.get(name, REFERENCES[name][0])
    derivative = (value(points + 1j * step * np.abs(points))).imag / (step * np.abs(points))
    np.testing.assert_allclose(derivative, REFERENCES[name][1](points), rtol=1e-8)


@pytest.mark.parametrize("row", [row for row in ELEMENTARY if row.arity == 1], ids=lambda r: r.name)
def test_python_scope(row: Any) -> None:
    """The same function on Python's numbers, and elementwise on vectors."""
    ti.init(default_fp=ti.f64)
    function, point = getattr(ti, row.name), float(points_of(row.name)[3])

    @ti.kernel
    def of_a_vector() -> ti.f64:
        return function(ti.Vector([point, point])).sum()

    value = REFERENCES[row.name][0](np.float64(point))
    assert function(point) == pytest.approx(value, rel=1e-14)
    assert of_a_vector() == pytest.approx(2 * value, rel=1e-14)


@pytest.mark.parametrize("name", REFERENCES)
def test_half_precision(name: str) -> None:
    """Of 16 bits: computed in more, and rounded."""
    ti.init()
    points = points_of(name)
    points = points[(np.abs(points) < 6e4) & (np.abs(points) > 1e-3)].astype(np.float16)
    with np.errstate(all="ignore"):
        exact, first, _ = (f(points.astype(np.float64)) for f in REFERENCES[name])
    value, slope, tangent = results(name, ti.f16, points)
    np.testing.assert_allclose(value, exact.astype(np.float16), rtol=2e-3, atol=1e-6)
    for found in (slope, tangent):
        np.testing.assert_allclose(found, first.astype(np.float16), rtol=3e-2, atol=1e-3)


@pytest.mark.parametrize("name", ["round", "floor", "ceil", "trunc"])
def test_whole_numbers(name: str) -> None:
    ti.init(default_fp=ti.f64)
    points = np.array([-2.7, -2.5, -0.5, -0.2, 0.0, 0.4, 0.5, 1.5, 2.6, 3.0])
    value, slope, _ = results(name, ti.f64, points)
    away = np.trunc(points + np.copysign(0.5, points))
    np.testing.assert_array_equal(value, away if name == "round" else getattr(np, name)(points))
    np.testing.assert_array_equal(slope, 0.0)
    function = getattr(ti, name)
    assert function(2.25, ti.i32) == int(getattr(np, name)(2.25))
