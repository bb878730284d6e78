"""The oracles of the reverse-mode tests: finite differences of the same program, and errors that
name two lines."""

from __future__ import annotations

import linecache
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import mlirad as ti
from mlirad.runtime.program import program as current_program

STEP = 2.0**-17
ELEMENTS = 24  # checked one by one; larger inputs also along one random direction


def variable(
    *shape: int, low: float = 0.5, high: float = 1.5, seed: int = 0, dtype: Any = ti.f64
) -> Any:
    """A field with a gradient, filled with numbers between two bounds."""
    x = ti.field(dtype, shape=shape, needs_grad=True)
    scatter(x, low, high, seed)
    return x


def scatter(x: Any, low: float = 0.5, high: float = 1.5, seed: int = 0) -> None:
    """Fill a field or ndarray with numbers between two bounds."""
    shape = (*x.shape, *x.element_shape)
    values = np.random.default_rng([seed, *shape]).uniform(low, high, shape)
    x.from_numpy(values.astype(x.dtype.numpy))


def vectors(n: int, *shape: int, seed: int = 0) -> Any:
    """A vector field with a gradient, of scattered numbers."""
    v = ti.Vector.field(n, ti.f64, shape=shape, needs_grad=True)
    scatter(v, seed=seed)
    return v


def matrices(n: int, m: int, *shape: int, seed: int = 0) -> Any:
    """A matrix field with a gradient, of scattered numbers."""
    v = ti.Matrix.field(n, m, ti.f64, shape=shape, needs_grad=True)
    scatter(v, seed=seed)
    return v


def array(*shape: int, seed: int = 0) -> Any:
    """An ndarray with a gradient, of scattered numbers."""
    a = ti.ndarray(ti.f64, shape=shape, needs_grad=True)
    scatter(a, seed=seed)
    return a


def scalar(dtype: Any = ti.f64) -> Any:
    """A 0-D field with a gradient: a loss."""
    return ti.field(dtype, shape=(), needs_grad=True)


def integers(*values: int) -> Any:
    """A field of integers."""
    f = ti.field(ti.i32, shape=len(values))
    f.from_numpy(np.array(values, np.int32))
    return f


@ti.kernel
def total(a: ti.template(), loss: ti.template()):
    """Add up the squares of a field."""
    for i in ti.grouped(a):
        loss[None] += a[i] ** 2


def check(
    run: Callable[[], Any],
    inputs: Sequence[Any],
    loss: Any,
    *,
    rel: float = 1e-6,
    forward: bool = True,
) -> list[np.ndarray[Any, Any]]:
    """Differentiate `loss`, as `run` computes it, in every element of `inputs`; compare; return the
    gradients.

    Every evaluation begins with the same memory and the same seed. What the program leaves in
    memory under a tape has to be what it leaves without one. Reverse mode has to be the transpose
    of forward mode, but for programs that call functions with a reverse of their own
    (`forward=False`).
    """
    start = State(inputs, loss)
    loss.fill(0)
    run()
    plain, left = loss.to_numpy().item(), State(inputs, loss)
    start.restore()
    for array in start.arrays:
        array.grad.fill(0)  # a tape clears fields
    with ti.ad.Tape(loss):
        run()
    left.check_same(loss)
    gradients = [x.grad.to_numpy() for x in inputs]
    start.restore()
    if forward:
        check_forward(run, inputs, loss, gradients, left)
        start.restore()

    def evaluate(x: Any, change: np.ndarray[Any, Any]) -> float:
        x.from_numpy(x.to_numpy() + change)
        loss.fill(0)
        run()
        value: float = loss.to_numpy().item()
        start.restore()
        return value

    for x, gradient in zip(inputs, gradients):
        for direction in _directions(gradient.shape):
            expected = slope(lambda h: evaluate(x, h * direction))  # noqa: B023 - used at once
            found = float((gradient * direction).sum())
            assert abs(found - expected) <= rel * abs(expected) + 1e-9 * (1 + abs(plain)), (
                f"in {getattr(x, 'symbol', 'array')} along {np.argwhere(direction)[:1]}: "
                f"tape {found!r}, finite differences {expected!r}"
            )
    return gradients


def check_forward(
    run: Callable[[], Any],
    inputs: Sequence[Any],
    loss: Any,
    gradients: Sequence[np.ndarray[Any, Any]],
    left: State,
) -> None:
    """Compare `<J v, 1>` by forward mode with `<v, J^T 1>` by reverse mode, for two directions v in
    one pass."""
    random = np.random.default_rng(1)
    directions = [random.uniform(-1, 1, (2, *gradient.shape)) for gradient in gradients]
    loss.fill(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with ti.ad.FwdMode(loss, list(inputs), directions) as mode:
            run()
    left.check_same(loss)
    for k, found in enumerate(mode.tangents(loss).reshape(2)):
        products = np.concatenate([(g * d[k]).ravel() for g, d in zip(gradients, directions)])
        expected, size = products.sum(), np.abs(products).sum()
        assert abs(found - expected) <= 1e-9 * size + 1e-12, (
            f"forward mode {found!r}, reverse mode {expected!r}"
        )


def slope(f: Callable[[float], float]) -> float:
    """The derivative at 0 by differences of the fourth order."""
    near, far = f(STEP) - f(-STEP), f(2 * STEP) - f(-2 * STEP)
    return (8 * near - far) / (12 * STEP)


def _directions(shape: tuple[int, ...]) -> list[np.ndarray[Any, Any]]:
    size = int(np.prod(shape))
    random = np.random.default_rng(size)
    chosen = range(size) if size <= ELEMENTS else random.choice(size, ELEMENTS, replace=False)
    found = []
    for k in chosen:
        unit = np.zeros(size)
        unit[k] = 1.0
        found.append(unit.reshape(shape))
    if size > ELEMENTS:
        found.append(random.uniform(-1, 1, size).reshape(shape))
    return found


def names_both(error: BaseException, *sources: str) -> None:
    """Assert that an error shows each of some source lines, or where it stands."""
    frame = sys._getframe(1)
    lines = linecache.getlines(frame.f_code.co_filename)
    for source in sources:
        places = [
            f"{frame.f_code.co_filename}:{n}:"
            for n, line in enumerate(lines, 1)
            if line.strip() == source
        ]
        assert source in str(error) or any(place in str(error) for place in places), (
            f"{source!r} is not in: {error}"
        )


class State:
    """The primal memory of the program, its arrays, and the number of the next launch."""

    def __init__(self, inputs: Sequence[Any], loss: Any) -> None:
        self.program = current_program()
        self.program.trees.materialize()
        arrays = [array for array in [*inputs, loss] if isinstance(array, ti.Ndarray)]
        self.arrays = list({id(array): array for array in arrays}.values())
        self.launches = self.program.random.launches
        self.fields = {name: memory.read() for name, memory in self.program.primals().items()}
        self.values = [array.to_numpy() for array in self.arrays]

    def check_same(self, loss: Any) -> None:
        """What memory held then, it has to hold now; sums may be done in another order."""
        now = State(self.arrays, loss)
        for name, values in self.fields.items():
            np.testing.assert_allclose(
                now.fields[name], values, rtol=1e-12, atol=1e-13, err_msg=f"field '{name}'"
            )
        for mine, values in zip(now.values, self.values):
            np.testing.assert_allclose(mine, values, rtol=1e-12, atol=1e-13)

    def restore(self) -> None:
        """Make memory what it was."""
        self.program.random.launches = self.launches
        for name, values in self.fields.items():
            self.program.fields[name].write(values)
        for array, values in zip(self.arrays, self.values):
            array.from_numpy(values)


def check_pair(
    overwriting: Callable[[], Any],
    obeying: Callable[[], Any],
    inputs: Sequence[Any],
    loss: Any,
    *,
    saves: bool = True,
) -> None:
    """Check two forms of a program, one of which overwrites what its gradient needs: same
    gradients, and only that one saves bytes (or neither); the other runs where saving is
    refused."""
    start = State(inputs, loss)
    expected = check(obeying, inputs, loss)
    for found, other in zip(check(overwriting, inputs, loss), expected):
        np.testing.assert_allclose(found, other, rtol=1e-9, atol=1e-12)
    for run, rules in ((overwriting, "save"), (obeying, "refuse")):
        start.restore()
        with ti.ad.Tape(loss, rules=rules) as tape:
            run()
        assert (tape.explain().bytes > 0) == (saves and run is overwriting), str(tape.explain())
    start.restore()
