"""`ti.erf` and `ti.erfc`: values and derivatives against SciPy, in the tails and at 0 too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

import mlirad as ti

pytestmark = pytest.mark.usefixtures("f64")
POINTS = np.array([-1e20, -12.0, -4.5, -1.3, -1e-9, -0.0, 0.0, 1e-30, 0.4, 2.0, 5.0, 10.0, 26.0])
EXACT: dict[str, list[Callable[[np.ndarray], np.ndarray]]] = {
    "erf": [
        special.erf,
        lambda x: 2 / np.sqrt(np.pi) * np.exp(-x * x),
        lambda x: -4 * x / np.sqrt(np.pi) * np.exp(-x * x),
    ],
    "erfc": [
        special.erfc,
        lambda x: -2 / np.sqrt(np.pi) * np.exp(-x * x),
        lambda x: 4 * x / np.sqrt(np.pi) * np.exp(-x * x),
    ],
}


def tolerance(dtype: Any) -> dict[str, float]:
    """Relative to values of up to 1e-300 in f64; f32 loses digits of exp(-x * x) in the tails."""
    return {"rtol": 1e-12, "atol": 0.0} if dtype == ti.f64 else {"rtol": 5e-5, "atol": 1e-30}


def applied(name: str, dtype: Any) -> tuple[Any, Any, Any]:
    """Fields of points and of the function there, and the kernel between them."""
    x = ti.field(dtype, len(POINTS), needs_grad=True, needs_dual=True)
    y = ti.field(dtype, len(POINTS), needs_grad=True, needs_dual=True)
    function = getattr(ti, name)
    x.from_numpy(POINTS.astype(dtype.numpy))

    @ti.kernel
    def run():
        for i in x:
            y[i] = function(x[i])

    return x, y, run


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("dtype", [ti.f32, ti.f64], ids=str)
def test_values_and_first_derivatives(name: str, dtype: Any) -> None:
    x, y, run = applied(name, dtype)
    given = x.to_numpy().astype(np.float64)
    value, slope, _ = (f(given) for f in EXACT[name])
    y.grad.fill(1.0)
    run()
    run.grad()
    np.testing.assert_allclose(y.to_numpy(), value, **tolerance(dtype))
    np.testing.assert_allclose(x.grad.to_numpy(), slope, **tolerance(dtype))
    with ti.ad.FwdMode(loss=y, param=x, seed=[1.0] * len(POINTS)):
        run()
    np.testing.assert_allclose(y.dual.to_numpy(), slope, **tolerance(dtype))


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("dtype", [ti.f32, ti.f64], ids=str)
def test_second_derivatives(name: str, dtype: Any) -> None:
    second = ti.ad.grad(ti.ad.grad(as_func(name)))
    y = ti.field(dtype, len(POINTS))

    @ti.kernel
    def run(points: ti.types.ndarray(dtype, 1)):
        for i in y:
            y[i] = second(points[i])

    points = POINTS.astype(dtype.numpy)
    run(points)
    expected = EXACT[name][2](points.astype(np.float64))
    np.testing.assert_allclose(y.to_numpy(), expected, **tolerance(dtype))


def as_func(name: str) -> Any:
    function = getattr(ti.math, name)

    @ti.func
    def f(x):
        return function(x)

    return f


def test_a_hessian_along_a_vector() -> None:
    x, loss = ti.field(ti.f64, 3, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)
    at = np.array([-0.7, 0.0, 1.9])
    x.from_numpy(at)

    @ti.kernel
    def energy():
        for i in x:
            loss[None] += ti.erf(x[i]) * ti.erfc(x[i])

    found = ti.ad.hessian(energy, loss=loss, wrt=x)
    value, slope, bend = (f(at) for f in EXACT["erf"])
    np.testing.assert_allclose(
        found, np.diag(bend * (1 - 2 * value) - 2 * slope**2), rtol=1e-12, atol=1e-15
    )


def test_elementwise_and_in_python() -> None:
    assert ti.erf(0.5) == pytest.approx(special.erf(0.5), rel=1e-15)
    assert ti.math.erfc(10.0) == pytest.approx(special.erfc(10.0), rel=1e-14)
    found = ti.erf(ti.Matrix([[0.0, 1.0], [-1.0, 3.0]])).to_numpy()
    np.testing.assert_allclose(found, special.erf([[0.0, 1.0], [-1.0, 3.0]]), rtol=1e-15)

    @ti.kernel
    def run(v: ti.types.vector(3, ti.f64)) -> ti.types.vector(3, ti.f64):
        return ti.erfc(v) + ti.erf(ti.Vector([1, 0, 2]))

    expected = special.erfc([0.1, 2.0, 9.0]) + special.erf(np.float32([1, 0, 2]))
    np.testing.assert_allclose(run(ti.Vector([0.1, 2.0, 9.0])), expected, rtol=1e-6)


def test_its_derivative_needs_no_guard() -> None:
    """It is finite everywhere: an adjoint of 0 stays 0 without a test."""
    _, _, run = applied("erf", ti.f64)
    reverse = run.ir(stage="derived", mode="reverse")
    assert "math.exp" in reverse
    assert "arith.cmpf" not in reverse
