"""Adjoints that a GPU gathers by elements: of random stencils, beside sums that Python adds up."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import cos, sin
from random import Random
from typing import Any

import numpy as np
import pytest

import mlirad as ti

ORDERS = ("descending", "shuffled")


@dataclass(frozen=True)
class Tap:
    """`weight · f(x[source]) · z[other source]`: the indices are `factor · i + shift`."""

    weight: float
    shift: tuple[int, int]
    other: tuple[int, int]
    guarded: bool


@dataclass(frozen=True)
class Stencil:
    """What a random kernel is."""

    shape: tuple[int, int]
    box: tuple[tuple[int, int], tuple[int, int]]
    taps: tuple[Tap, ...]
    periodic: bool
    factor: int
    curved: bool
    stored: bool
    reach: int  # of an inner loop that shifts along the first axis
    late: bool  # whether bounds are known at run time only

    def source(self, at: tuple[int, int], shift: tuple[int, int], k: int) -> tuple[int, int]:
        """The element that is read."""
        found = [self.factor * i + s for i, s in zip(at, shift)]
        found[0] += k
        wrapped = [v % n for v, n in zip(found, self.shape)] if self.periodic else found
        return wrapped[0], wrapped[1]


def drawn(seed: int) -> Stencil:
    """A random stencil whose reads stay in the arrays."""
    draw = Random(seed)
    shape = draw.randrange(9, 15), draw.randrange(9, 15)
    periodic = draw.random() < 0.4
    factor = 1 if periodic else draw.choice([1, 1, 1, 2])
    reach = draw.choice([1, 1, 2, 3])
    ends = [
        n if periodic else (n - 3 - (reach - 1) * (axis == 0)) // factor
        for axis, n in enumerate(shape)
    ]
    low = 0 if periodic else 2
    starts = [low if factor == 1 else 1 for _ in ends]
    taps = []
    for _ in range(draw.randrange(1, 5)):
        shifts = [(draw.randrange(-2, 3), draw.randrange(-2, 3)) for _ in range(2)]
        taps.append(Tap(draw.uniform(-1, 1), shifts[0], shifts[1], draw.random() < 0.4))
    box = (starts[0], ends[0]), (starts[1], ends[1])
    return Stencil(
        shape,
        box,
        tuple(taps),
        periodic,
        factor,
        draw.random() < 0.3,
        draw.random() < 0.6,
        reach,
        draw.random() < 0.3,
    )


def kernel_of(one: Stencil, x: Any, z: Any, y: Any) -> Any:
    """The stencil as a kernel; the bounds of its second axis may be known at run time only."""
    n, m = one.shape
    f, reach = one.factor, one.reach
    (low, high), _ = one.box

    number = ti.i32 if one.late else ti.template()

    @ti.kernel
    def run(start: number, end: number):
        for i, j in ti.ndrange((low, high), (start, end)):
            s = 0.0
            for k in range(reach):
                for t in ti.static(one.taps):
                    (a, b), (c, d) = t.shift, t.other
                    if not ti.static(t.guarded) or (i > low and j + i < m):
                        if ti.static(one.periodic):
                            v = x[(i + k + a) % n, (j + b) % m]
                            w = z[(i + k + c) % n, (j + d) % m]
                            s += t.weight * (ti.sin(v) if ti.static(one.curved) else v) * w
                        else:
                            v = x[f * i + k + a, f * j + b]
                            w = z[f * i + k + c, f * j + d]
                            s += t.weight * (ti.sin(v) if ti.static(one.curved) else v) * w
            if ti.static(one.stored):
                y[i, j] = s
            else:
                y[i, j] += s

    return run


def expected(
    one: Stencil, x: np.ndarray, z: np.ndarray, seed: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The adjoints of `x`, `z` and `y`, given that of `y`."""
    gx, gz, gy = np.zeros_like(x), np.zeros_like(z), seed.copy()
    for at in product(*(range(*ends) for ends in one.box)):
        for k, t in product(range(one.reach), one.taps):
            if t.guarded and not (at[0] > one.box[0][0] and sum(at) < one.shape[1]):
                continue
            here, there = one.source(at, t.shift, k), one.source(at, t.other, k)
            value, slope = (sin(x[here]), cos(x[here])) if one.curved else (x[here], 1.0)
            gx[here] += t.weight * slope * z[there] * seed[at]
            gz[there] += t.weight * value * seed[at]
        if one.stored:
            gy[at] = 0.0
    return gx, gz, gy


@pytest.mark.parametrize("seed", range(40))
def test_random_stencils(seed: int) -> None:
    """Adjoints of stencils with offsets, strides, guards, remainders, inner loops and clears."""
    one = drawn(seed)
    ti.init(arch=ti.simt, default_fp=ti.f64, simt_order=ORDERS[seed % 2])
    x, z, y = (ti.field(ti.f64, one.shape, needs_grad=True) for _ in range(3))
    numbers = np.random.default_rng(seed)
    for array in (x, z, y.grad):
        array.from_numpy(numbers.uniform(-1, 1, one.shape))
    seeds = y.grad.to_numpy()
    run = kernel_of(one, x, z, y)
    run.grad(*one.box[1])
    found = [array.to_numpy() for array in (x.grad, z.grad, y.grad)]
    for mine, theirs in zip(found, expected(one, x.to_numpy(), z.to_numpy(), seeds)):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12)


def atomics(kernel: Any, *arguments: Any) -> int:
    """How many atomics the reverse of a kernel has."""
    text: str = kernel.ir(*arguments, stage="memref", mode="reverse")
    return text.count("atomic_rmw ")


def fields(*shapes: Any) -> list[Any]:
    """Fields of random numbers, with adjoints of random numbers."""
    numbers, found = np.random.default_rng(7), []
    for shape in shapes:
        one = ti.field(ti.f64, shape, needs_grad=True)
        one.from_numpy(numbers.uniform(0.5, 1.5, shape))
        one.grad.from_numpy(numbers.uniform(0.5, 1.5, shape))
        found.append(one)
    return found


@pytest.fixture(params=ORDERS)
def simt(request: pytest.FixtureRequest) -> None:
    """A GPU's kernels, in some order of their threads."""
    ti.init(arch=ti.simt, default_fp=ti.f64, simt_order=request.param)


def numbers_of(*arrays: Any) -> list[np.ndarray]:
    """What arrays and their adjoints hold."""
    return [held.to_numpy() for array in arrays for held in (array, array.grad)]


def close(found: Any, theirs: np.ndarray) -> None:
    """An adjoint is as it should be."""
    np.testing.assert_allclose(found.to_numpy(), theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.usefixtures("simt")
@pytest.mark.parametrize("bound", [lambda i: 0, lambda i: i + 1], ids=["all", "half"])
def test_sums_over_pairs(bound: Any) -> None:
    """Every body pulls at every other: the one of the inner loop is a thread's own as well."""
    n = 20
    place, mass, energy = fields((n, 3), (n,), ())
    half = bound(1) > 0

    @ti.kernel
    def run():
        for i in range(n):
            for j in range(i + 1 if ti.static(half) else 0, n):
                r = 0.1
                for k in ti.static(range(3)):
                    r += (place[i, k] - place[j, k]) ** 2
                energy[None] -= mass[i] * mass[j] / ti.sqrt(r)

    x, gx, m, gm, _, g = numbers_of(place, mass, energy)
    assert atomics(run) == 0
    run.grad()
    counted = np.array([[float(j >= bound(i)) for j in range(n)] for i in range(n)])
    apart = x[:, None, :] - x[None, :, :]
    distance = np.sqrt((apart**2).sum(-1) + 0.1)
    pull = counted * m[:, None] * m[None, :] / distance**3
    pull = (pull + pull.T)[:, :, None] * apart
    close(place.grad, gx + g * pull.sum(1))
    shared = counted / distance
    close(mass.grad, gm - g * ((shared + shared.T) @ m))


@pytest.mark.usefixtures("simt")
def test_product_of_matrices() -> None:
    """Each factor's adjoint is a product: the loop over rows, or over columns, goes into the
    thread."""
    a, b, c = fields((12, 16), (16, 20), (12, 20))

    @ti.kernel
    def run():
        for i, j in c:
            for k in range(16):
                c[i, j] += a[i, k] * b[k, j]

    x, gx, y, gy, _, g = numbers_of(a, b, c)
    assert atomics(run) == 0
    run.grad()
    close(a.grad, gx + g @ y.T)
    close(b.grad, gy + x.T @ g)


@pytest.mark.usefixtures("simt")
def test_steps_in_two_buffers() -> None:
    """A row that is fixed by a remainder is not the one that is read and cleared."""
    (u,) = fields((2, 9, 9))

    @ti.kernel
    def run(t: ti.i32):
        for i, j in ti.ndrange((1, 8), (1, 8)):
            u[t % 2, i, j] = u[(t + 1) % 2, i - 1, j] * 2 - u[(t + 1) % 2, i, j + 1]

    _, g = numbers_of(u)
    assert atomics(run, 3) == 0
    run.grad(3)
    inner = g[1, 1:8, 1:8].copy()
    g[1, 1:8, 1:8] = 0
    g[0, 0:7, 1:8] += 2 * inner
    g[0, 1:8, 2:9] -= inner
    close(u.grad, g)


@pytest.mark.usefixtures("simt")
def test_channels() -> None:
    """A convolution with channels: the thread of an input's element sums over those of the
    output."""
    x, w, y = fields((2, 3, 8, 8), (4, 3, 3, 3), (2, 4, 8, 8))

    @ti.kernel
    def run():
        for b, k, i, j in y:
            a = 0.0
            for c in range(3):
                for p, q in ti.static(ti.ndrange(3, 3)):
                    if 0 <= i + p - 1 < 8 and 0 <= j + q - 1 < 8:
                        a += w[k, c, p, q] * x[b, c, i + p - 1, j + q - 1]
            y[b, k, i, j] = a

    held, gx, kernel, gw, _, gy = numbers_of(x, w, y)
    run.grad()
    padded, back = (np.pad(one, [(0, 0), (0, 0), (1, 1), (1, 1)]) for one in (held, gx))
    for p, q in product(range(3), range(3)):
        window = np.s_[:, :, p : p + 8, q : q + 8]
        back[window] += np.einsum("bkij,kc->bcij", gy, kernel[:, :, p, q])
        gw[:, :, p, q] += np.einsum("bkij,bcij->kc", gy, padded[window])
    close(x.grad, back[:, :, 1:9, 1:9])
    close(w.grad, gw)
    close(y.grad, np.zeros_like(gy))
    text = run.ir(stage="memref", mode="reverse")
    # the adjoints of the input and of the weights, whose parts a launch adds up, and the clear
    assert text.count("gpu.launch") == 4


@pytest.mark.usefixtures("simt")
@pytest.mark.parametrize("shape", [(3, 5), (1, 4)])
def test_few_weights(shape: tuple[int, int]) -> None:
    """The iterations that a weight's adjoint sums over are shared out to threads."""
    x, w, y = fields((80, 40), shape, (75, 33))
    rows, columns = shape

    @ti.kernel
    def run():
        for i, j in y:
            for p, q in ti.ndrange(rows, columns):
                y[i, j] += w[p, q] * x[i + p, j + q]

    held, _, _, gw, _, gy = numbers_of(x, w, y)
    run.grad()
    for p, q in product(range(rows), range(columns)):
        gw[p, q] += (gy * held[p : p + 75, q : q + 33]).sum()
    close(w.grad, gw)


@pytest.mark.usefixtures("simt")
@pytest.mark.parametrize("axis", [0, 1])
def test_sums_along_an_axis(axis: int) -> None:
    """Rows and columns are summed up by several threads each."""
    x, y = fields((150, 90), (90 if axis == 0 else 150,))

    @ti.kernel
    def run():
        for i, j in x:
            y[j if ti.static(axis == 0) else i] += x[i, j]

    held, _, total, _ = numbers_of(x, y)
    run()
    close(y, total + held.sum(axis))


@pytest.mark.usefixtures("simt")
def test_layer() -> None:
    """What a layer's iteration computes by a loop is kept for the adjoints of inputs and
    weights."""
    x, w, y = fields((48, 12), (10, 12), (48, 10))

    @ti.kernel
    def run():
        for r, h in ti.ndrange((0, 48), (0, 10)):
            total = 0.0
            for k in range(12):
                total += w[h, k] * x[r, k]
            y[r, h] = ti.tanh(total)

    held, gx, weights, gw, _, gy = numbers_of(x, w, y)
    assert atomics(run) == 0
    assert run.ir(stage="memref", mode="reverse").count("gpu.launch") == 4
    run.grad()
    slope = gy * (1 - np.tanh(held @ weights.T) ** 2)
    close(x.grad, gx + slope @ weights)
    close(w.grad, gw + slope.T @ held)
