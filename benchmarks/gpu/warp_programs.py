"""Some of `benchmarks.workloads` as a user of Warp would write them, with the same numbers.

Warp makes a kernel of the annotations of a function, which have to be values of it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from benchmarks.workloads.nbody import SOFTENING
from benchmarks.workloads.stencil2d import DAMPING, SPEED, STEPS


@dataclass
class Program:
    """Launches that add to a loss, and the arrays whose gradients are asked for."""

    forward: Callable[[], None]
    loss: Any
    inputs: list[Any]
    _tape: Any = None

    def primal(self) -> None:
        """The loss."""
        self.loss.zero_()
        self.forward()
        wp.synchronize()

    def gradient(self) -> None:
        """The loss and the gradients, which are zero before."""
        self.loss.zero_()
        for one in self.inputs:
            one.grad.zero_()
        self._tape = wp.Tape()
        with self._tape:
            self.forward()
        self._tape.backward(self.loss)
        wp.synchronize()

    def value(self) -> float:
        """The loss."""
        return float(self.loss.numpy()[0])

    def gradients(self) -> list[Any]:
        """Those of the last time, then all are cleared."""
        found = [one.grad.numpy().copy() for one in self.inputs]
        self._tape.zero()
        return found


@wp.kernel
def _copy(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i]


@wp.kernel
def _pick(y: wp.array(dtype=float), i: int, loss: wp.array(dtype=float)):
    wp.atomic_add(loss, 0, y[i])


@wp.kernel
def _add_squares(x: wp.array(dtype=float), y: wp.array(dtype=float), loss: wp.array(dtype=float)):
    i = wp.tid()
    term = 0.75 * x[i] + y[i]
    wp.atomic_add(loss, 0, term * term)


@wp.kernel
def _begin(start: wp.array2d(dtype=float), height: wp.array3d(dtype=float)):
    i, j = wp.tid()
    height[0, i, j] = start[i, j]
    height[1, i, j] = start[i, j]


@wp.kernel
def _swing(height: wp.array3d(dtype=float), t: int, damping: float, speed: float):
    k, m = wp.tid()
    i = k + 1
    j = m + 1
    middle = height[t - 1, i, j]
    around = height[t - 1, i - 1, j] + height[t - 1, i + 1, j]
    bend = around + height[t - 1, i, j - 1] + height[t - 1, i, j + 1] - 4.0 * middle
    height[t, i, j] = middle + damping * (middle - height[t - 2, i, j]) + speed * bend


@wp.kernel
def _compare(
    height: wp.array3d(dtype=float),
    wanted: wp.array2d(dtype=float),
    last: int,
    scale: float,
    loss: wp.array(dtype=float),
):
    i, j = wp.tid()
    miss = height[last, i, j] - wanted[i, j]
    wp.atomic_add(loss, 0, miss * miss * scale)


@wp.kernel
def _potential(
    place: wp.array(dtype=wp.vec3),
    mass: wp.array(dtype=float),
    softening: float,
    energy: wp.array(dtype=float),
):
    i = wp.tid()
    around = wp.float32(0.0)  # a number alone would be a constant
    for j in range(place.shape[0]):
        apart = place[i] - place[j]
        around += mass[j] / wp.sqrt(wp.dot(apart, apart) + softening)
    wp.atomic_add(energy, 0, -0.5 * mass[i] * around)


def build(case: str, size: int, device: str, steps: int) -> Program:
    """One of them, on a device. Raises KeyError for a workload that is not written for Warp."""
    wp.config.quiet = True
    with wp.ScopedDevice(device):
        return _PROGRAMS[case](size, steps)


def _taken(values: Any, dtype: Any = float) -> Any:
    return wp.array(values.astype(np.float32), dtype=dtype, requires_grad=True)


def _zeros(shape: Any) -> Any:
    return wp.zeros(shape, dtype=float, requires_grad=True)


def _copies(size: int, steps: int) -> Program:
    x, y, loss = _taken(np.full(size, 0.5)), _zeros(size), _zeros(1)

    def forward() -> None:
        wp.launch(_copy, size, [x, y])
        wp.launch(_pick, 1, [y, size // 3, loss])

    return Program(forward, loss, [x])


def _saxpy_sum(size: int, steps: int) -> Program:
    random = np.random.default_rng(11)
    x, y = (_taken(random.uniform(-1, 1, size)) for _ in range(2))
    loss = _zeros(1)
    return Program(lambda: wp.launch(_add_squares, size, [x, y, loss]), loss, [x, y])


def _stencil2d(size: int, steps: int) -> Program:
    steps = steps or STEPS
    ramp = np.linspace(0, np.pi, size)
    start = _taken(np.outer(np.sin(3 * ramp), np.sin(2 * ramp)))
    wanted = _taken(np.outer(np.sin(ramp), np.sin(ramp)))
    height, loss, box = _zeros((steps, size, size)), _zeros(1), (size, size)

    def forward() -> None:
        wp.launch(_begin, box, [start, height])
        for t in range(2, steps):
            wp.launch(_swing, (size - 2, size - 2), [height, t, DAMPING, SPEED])
        wp.launch(_compare, box, [height, wanted, steps - 1, 1.0 / (size * size), loss])

    return Program(forward, loss, [start])


def _nbody(size: int, steps: int) -> Program:
    random = np.random.default_rng(17)
    place = _taken(random.normal(0, 1, (size, 3)), wp.vec3)
    mass, energy = _taken(random.uniform(0.5, 1.5, size) / size), _zeros(1)
    given = [place, mass, SOFTENING * SOFTENING, energy]
    return Program(lambda: wp.launch(_potential, size, given), energy, [place])


_PROGRAMS: dict[str, Callable[[int, int], Program]] = {
    "copy": _copies,
    "saxpy_sum": _saxpy_sum,
    "stencil2d": _stencil2d,
    "nbody": _nbody,
}
