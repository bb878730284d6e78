"""Programs whose gradients are taken within budgets: `benchmarks.budgets`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import mlirad as ti
from mlirad.examples.throw import Jelly

Over = Callable[[range], Iterable[int]]


@dataclass
class Program:
    """A program: `prepare` sets fields, `run` launches its kernels, with its loop over time through
    `over`; `state` and `scratch` are what that loop declares, if there is one."""

    title: str
    loss: Any
    wrt: Any
    prepare: Callable[[], None]
    run: Callable[[Over], None]
    state: Sequence[Any] = ()
    scratch: Sequence[Any] = ()
    steps: int = 0


def gru(steps: int = 1000, units: int = 24, rows: int = 8) -> Program:
    """A gated recurrent network that overwrites its state; three kernels a step."""
    h, z, r, new = (ti.field(ti.f64, (rows, units), needs_grad=True) for _ in range(4))
    w = ti.field(ti.f64, (3, units, units), needs_grad=True)
    given = ti.field(ti.f64, (steps, rows))
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def gates(t: ti.i32):
        for b, i in h:
            first, second = given[t, b], given[t, b]
            for j in range(units):
                first += w[0, i, j] * h[b, j]
                second += w[1, i, j] * h[b, j]
            z[b, i] = 1.0 / (1.0 + ti.exp(-first))
            r[b, i] = 1.0 / (1.0 + ti.exp(-second))

    @ti.kernel
    def candidate(t: ti.i32):
        for b, i in h:
            total = given[t, b]
            for j in range(units):
                total += w[2, i, j] * r[b, j] * h[b, j]
            new[b, i] = ti.tanh(total)

    @ti.kernel
    def update():
        for b, i in h:
            h[b, i] = (1.0 - z[b, i]) * h[b, i] + z[b, i] * new[b, i]

    @ti.kernel
    def total():
        for b, i in h:
            loss[None] += h[b, i] ** 2

    def prepare() -> None:
        random = np.random.default_rng(0)
        w.from_numpy(random.normal(0.0, 0.5 / units**0.5, (3, units, units)))
        given.from_numpy(random.normal(0.0, 1.0, (steps, rows)))
        h.fill(0.1)

    def run(over: Over) -> None:
        for t in over(range(steps)):
            gates(t)
            candidate(t)
            update()
        total()

    return Program(f"GRU of {steps} steps", loss, w, prepare, run, [h], [z, r, new], steps)


def fluid(steps: int = 100, cells: int = 48) -> Program:
    """Stable fluids (Stam, SIGGRAPH 1999) with a dye; twelve launches a step."""
    shape = (cells, cells)
    v, v_new = (ti.Vector.field(2, ti.f64, shape, needs_grad=True) for _ in range(2))
    dye, dye_new, p, q, div = (ti.field(ti.f64, shape, needs_grad=True) for _ in range(5))
    start = ti.Vector.field(2, ti.f64, shape, needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)
    dt = 0.5

    @ti.func
    def inside(i):
        return ti.max(0, ti.min(cells - 1, i))

    @ti.func
    def sample(field: ti.template(), x, y):
        a, b = ti.cast(ti.floor(x), ti.i32), ti.cast(ti.floor(y), ti.i32)
        s, t = x - a, y - b
        i, j, k, n = inside(a), inside(b), inside(a + 1), inside(b + 1)
        low = (1 - t) * field[i, j] + t * field[i, n]
        return (1 - s) * low + s * ((1 - t) * field[k, j] + t * field[k, n])

    @ti.kernel
    def begin():
        for i, j in v:
            v[i, j] = start[i, j]

    @ti.kernel
    def move():
        for i, j in v:
            v_new[i, j] = sample(v, i - dt * v[i, j][0], j - dt * v[i, j][1])

    @ti.kernel
    def diverge():
        for i, j in v:
            across = v_new[inside(i + 1), j][0] - v_new[inside(i - 1), j][0]
            div[i, j] = 0.5 * (across + v_new[i, inside(j + 1)][1] - v_new[i, inside(j - 1)][1])

    @ti.kernel
    def relax(new: ti.template(), old: ti.template()):
        for i, j in div:
            near = old[inside(i + 1), j] + old[inside(i - 1), j]
            near += old[i, inside(j + 1)] + old[i, inside(j - 1)]
            new[i, j] = 0.25 * (near - div[i, j])

    @ti.kernel
    def project():
        for i, j in v:
            x = p[inside(i + 1), j] - p[inside(i - 1), j]
            y = p[i, inside(j + 1)] - p[i, inside(j - 1)]
            v[i, j] = v_new[i, j] - 0.5 * ti.Vector([x, y])

    @ti.kernel
    def carry():
        for i, j in dye:
            dye_new[i, j] = sample(dye, i - dt * v[i, j][0], j - dt * v[i, j][1])

    @ti.kernel
    def fade():
        for i, j in dye:
            dye[i, j] = 0.999 * dye_new[i, j]

    @ti.kernel
    def total():
        for i, j in dye:
            loss[None] += i * dye[i, j] ** 2

    def prepare() -> None:
        random = np.random.default_rng(1)
        start.from_numpy(random.normal(0.0, 1.0, (*shape, 2)))
        dye.from_numpy(random.uniform(0.0, 1.0, shape))
        p.fill(0.0)

    def run(over: Over) -> None:
        begin()
        for _ in over(range(steps)):
            move()
            diverge()
            for _ in range(3):
                relax(q, p)
                relax(p, q)
            relax(q, p)
            project()
            carry()
            fade()
        total()

    return Program(
        f"stable fluids, {cells} x {cells}, {steps} steps",
        loss, start, prepare, run, [v, dye, p], [v_new, dye_new, q, div], steps,
    )  # fmt: skip


def mpm(steps: int = 256, particles: int = 10_000) -> Program:
    """The jelly of `mlirad.examples.throw`."""
    jelly = Jelly(particles, steps)

    def run(over: Over) -> None:
        jelly.fly(over(range(steps)))

    return Program(
        f"MPM, {particles} particles, {steps} steps",
        jelly.loss, jelly.throw, lambda: None, run,
        jelly.state, jelly.scratch, steps,
    )  # fmt: skip


def chain(steps: int = 400, count: int = 3000) -> Program:
    """Steps in place of which every seventh does twenty times as much, on parts of a field."""
    x = ti.field(ti.f64, count, needs_grad=True)
    start = ti.field(ti.f64, count, needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def begin():
        for i in x:
            x[i] = start[i]

    @ti.kernel
    def step(end: ti.i32, times: ti.i32):
        for i in range(end):
            value = x[i]
            for _ in range(times):
                value = ti.sin(value) + 0.1 * value
            x[i] = value

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i] ** 2

    def prepare() -> None:
        start.from_numpy(np.linspace(0.1, 1.0, count))

    def run(over: Over) -> None:
        begin()
        for t in over(range(steps)):
            step(count if t % 3 else count // 2, 20 if t % 7 == 0 else 1)
        total()

    return Program(f"unequal chain of {steps} steps", loss, start, prepare, run, [x], [], steps)


def network(cells: int = 128, levels: int = 5, layers: int = 8) -> Program:
    """A U-shaped network: layers in place, halved from level to level, and back with what each
    level had."""
    sizes = [cells >> level for level in range(levels)]
    a, b = ([ti.field(ti.f64, (n, n), needs_grad=True) for n in sizes] for _ in range(2))
    w = ti.field(ti.f64, (2 * levels * layers, 3, 3), needs_grad=True)
    picture = ti.field(ti.f64, (cells, cells))
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def begin():
        for i, j in picture:
            a[0][i, j] = picture[i, j]

    @ti.kernel
    def convolve(new: ti.template(), old: ti.template(), layer: ti.i32, n: ti.i32):
        for i, j in new:
            total = 0.0
            for k, m in ti.static(ti.ndrange(3, 3)):
                total += w[layer, k, m] * old[(i + k + n - 1) % n, (j + m + n - 1) % n]
            new[i, j] = ti.tanh(total)

    @ti.kernel
    def halve(new: ti.template(), old: ti.template()):
        for i, j in new:
            row = old[2 * i, 2 * j] + old[2 * i, 2 * j + 1]
            new[i, j] = 0.25 * (row + old[2 * i + 1, 2 * j] + old[2 * i + 1, 2 * j + 1])

    @ti.kernel
    def join(new: ti.template(), low: ti.template()):
        for i, j in new:
            new[i, j] += low[i // 2, j // 2]

    @ti.kernel
    def total():
        for i, j in picture:
            loss[None] += (a[0][i, j] - picture[i, j]) ** 2

    def prepare() -> None:
        random = np.random.default_rng(2)
        w.from_numpy(random.normal(0.0, 0.6, w.shape))
        picture.from_numpy(random.uniform(-1.0, 1.0, (cells, cells)))

    def run(over: Over) -> None:
        begin()
        number = 0
        for level in [*range(levels), *reversed(range(levels - 1))]:
            if number > (levels - 1) * layers:
                join(a[level], a[level + 1])
            elif level:
                halve(a[level], a[level - 1])
            for _ in range(layers // 2):
                convolve(b[level], a[level], number, sizes[level])
                convolve(a[level], b[level], number + 1, sizes[level])
                number += 2
        total()

    return Program(f"U-shaped network, {levels} levels", loss, w, prepare, run)


PROGRAMS = {"gru": gru, "fluid": fluid, "mpm": mpm, "chain": chain, "network": network}
