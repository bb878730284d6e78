"""Find the parameters of a chaotic system from noisy measurements.

    python -m mlirad.examples.inverse.lorenz

A `while` loop integrates the Lorenz system with adaptive steps (Bogacki, Shampine, 1989). SciPy
fits the three parameters and the first state, first to a few measurements and then to more.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

import mlirad as ti

COUNT, INTERVAL, NOISE = 80, 0.05, 0.3  # of measurements
TOLERANCE = 1e-6  # of a step
TRUE = np.array([10.0, 28.0, 8 / 3, -5.0, -6.0, 22.0])  # sigma, rho, beta, and the first state
GUESS = np.array([8.0, 24.0, 2.0, -4.0, -4.0, 20.0])

ti.init(default_fp=ti.f64)
unknown: Any = ti.field(float, 6, needs_grad=True)
path: Any = ti.Vector.field(3, float, COUNT, needs_grad=True)
measured: Any = ti.Vector.field(3, float, COUNT)
loss: Any = ti.field(float, (), needs_grad=True)


@ti.func
def velocity(x: Any) -> Any:
    s, r, b = unknown[0], unknown[1], unknown[2]
    return ti.Vector([s * (x[1] - x[0]), x[0] * (r - x[2]) - x[1], x[0] * x[1] - b * x[2]])


@ti.kernel
def integrate(count: int) -> None:
    x, step = ti.Vector([unknown[3], unknown[4], unknown[5]]), 0.01
    ti.loop_config(serialize=True)
    for k in range(count):
        left = INTERVAL
        while left > 1e-9:
            h = ti.min(step, left)
            a = velocity(x)
            b = velocity(x + 0.5 * h * a)
            c = velocity(x + 0.75 * h * b)
            y = x + h * (2 * a + 3 * b + 4 * c) / 9
            error = h * (-5 * a / 72 + b / 12 + c / 9 - velocity(y) / 8).norm() + 1e-12
            if error < TOLERANCE:  # else the step is repeated, shorter
                x, left = y, left - h
            step = h * ti.min(ti.max(0.9 * (TOLERANCE / error) ** (1 / 3), 0.2), 5.0)
        path[k] = x


@ti.kernel
def compare(count: int) -> None:
    for k in range(count):
        loss[None] += (path[k] - measured[k]).norm_sqr() / (3 * count)


def misfit(values: NDArray[np.float64], count: int) -> tuple[float, NDArray[np.float64]]:
    """Return the mean squared error of the first measurements, and its gradient."""
    unknown.from_numpy(values)
    with ti.ad.Tape(loss):
        integrate(count)
        compare(count)
    return loss[None], unknown.grad.to_numpy()


if __name__ == "__main__":
    unknown.from_numpy(TRUE)
    integrate(COUNT)
    noise = np.random.default_rng(0).normal(0, NOISE, (COUNT, 3))
    measured.from_numpy(path.to_numpy() + noise)
    print(f"true: sigma = 10, rho = 28, beta = 2.667, noise {NOISE}")
    for count in (10, 20, 40, COUNT):
        fit = minimize(misfit, GUESS, args=(count,), jac=True, method="L-BFGS-B")
        GUESS, (sigma, rho, beta) = fit.x, fit.x[:3]
        print(f"{count} measurements: sigma = {sigma:.2f}, rho = {rho:.2f}, beta = {beta:.3f}")
