"""Parallel loops whose iterations have ranges of elements of their own, by the bounds of inner
loops: blocks, rows, tiles, triangles, steps; and rows of flattened arrays."""

from __future__ import annotations

import math
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from gradients import check, integers, scalar, total, variable
from programs.load import load

import mlirad as ti

pytestmark = pytest.mark.usefixtures("f64")
N = 12


def apart(x: Any, y: Any, p: Any) -> dict[str, tuple[Any, tuple[int, ...], bool]]:
    """Kernels whose ranges are disjoint, with arguments, and whether that is known while
    compiling."""

    @ti.kernel
    def blocks():
        for b in range(3):
            s = 0.0
            for i in range(b * 4, (b + 1) * 4):
                s += x[i]
            for i in range(b * 4, (b + 1) * 4):
                y[i] = x[i] ** 2 * s

    @ti.kernel
    def blocks_in_place():
        for b in range(3):
            s = 0.0
            for i in range(4 * b, 4 * b + 4):
                x[i] = ti.exp(x[i])
            for i in range(4 * b, 4 * b + 4):
                s += x[i]
            for i in range(4 * b, 4 * b + 4):
                y[i] = x[i] / s

    @ti.kernel
    def recurrences():
        for b in range(3):
            for i in range(4 * b, 4 * b + 3):
                y[i + 1] = ti.sin(y[i]) * x[i]

    @ti.kernel
    def steps():
        for b in range(3):
            for i in range(b, 12, 3):
                y[i] = x[i] ** 2

    @ti.kernel
    def backwards():
        for b in range(3):
            for i in range(11 - 4 * b, 12 - 4 * b):
                y[i] = x[i] ** 2

    @ti.kernel
    def of_a_size(n: ti.i32):
        for b in range(3):
            for i in range(b * n, (b + 1) * n):
                y[i] = x[i] ** 3

    @ti.kernel
    def as_many_as(n: ti.i32):
        for b in range(n):
            for i in range(b * 4, b * 4 + 4):
                y[i] = x[i] ** 3

    @ti.kernel
    def triangle():
        for b in range(4):
            for i in range(b * (b + 1) // 2, (b + 1) * (b + 2) // 2):
                y[i] = x[i] ** 2

    @ti.kernel
    def rows():
        for r in range(4):
            for k in range(p[r], p[r + 1]):
                y[k] = x[k] ** 2

    @ti.kernel
    def rows_in_place():
        for r in range(4):
            for k in range(p[r], p[r + 1] - 1):
                x[k + 1] = ti.sin(x[k]) * x[k + 1]

    return {
        one.__name__: (one, arguments, is_known)
        for one, arguments, is_known in (
            (blocks, (), True),
            (blocks_in_place, (), True),
            (recurrences, (), True),
            (steps, (), True),
            (backwards, (), True),
            (of_a_size, (4,), False),
            (as_many_as, (3,), True),
            (triangle, (), False),
            (rows, (), False),
            (rows_in_place, (), False),
        )
    }


NAMES = ["blocks", "blocks_in_place", "recurrences", "steps", "backwards"]
NAMES += ["of_a_size", "as_many_as", "triangle", "rows", "rows_in_place"]


@pytest.mark.parametrize("name", NAMES)
def test_disjoint_ranges(name: str) -> None:
    x, y, loss, p = variable(N), variable(N), scalar(), integers(0, 4, 4, 9, 12)
    run, arguments, is_known = apart(x, y, p)[name]
    check(lambda: (run(*arguments), total(x, loss), total(y, loss)), [x, y], loss)
    noted = run.ir(*arguments, stage="marked", mode="reverse")
    assert ("grad.collisions" not in noted) == is_known


def test_tiles_of_a_plane() -> None:
    x, y, loss = variable(4, 6), variable(4, 6), scalar()

    @ti.kernel
    def run():
        for a, b in ti.ndrange(2, 3):
            for i in range(2 * a, 2 * a + 2):
                for j in range(2 * b, 2 * b + 2):
                    y[i, j] = x[i, j] ** 2 * (a + 1)

    check(lambda: (run(), total(y, loss)), [x], loss)
    assert "grad.collisions" not in run.ir(stage="marked", mode="reverse")


@pytest.mark.parametrize("bounds", ["b * 3, b * 3 + 4", "0, b + 1", "b, 12, 2", "b, 12"])
def test_ranges_that_overlap_are_refused(bounds: str, tmp_path: Path) -> None:
    run = load(SOURCE.format(bounds=bounds), tmp_path).run
    with pytest.raises(ti.TaichiCompilationError, match=r"is written .*serialize=True"):
        run.ir(stage="derived", mode="reverse")


SOURCE = """
import mlirad as ti
x, y = (ti.field(ti.f64, 12, needs_grad=True) for _ in range(2))
@ti.kernel
def run():
    for b in range(3):
        for i in range({bounds}):
            y[i] = x[i] ** 2
"""


def test_rows_that_overlap_are_refused_when_they_run() -> None:
    x, y, loss, p = variable(N), variable(N), scalar(), integers(0, 4, 4, 9, 12)
    ends = integers(4, 4, 10, 12)

    @ti.kernel
    def run():
        for r in range(4):
            for k in range(p[r], ends[r]):
                y[k] = x[k] ** 2

    with pytest.raises(ti.TaichiRuntimeError, match=r"\[9\] is written here"), ti.ad.Tape(loss):
        run()
        total(y, loss)


@pytest.mark.parametrize("is_flat", [True, False])
def test_rows_of_flattened_arrays_are_rows(is_flat: bool) -> None:
    """What a row's iterations read is what earlier ones wrote: nothing needed is overwritten."""
    x, y = variable(3, 5), variable(3)
    t = ti.field(ti.f64, 18 if is_flat else (3, 6), needs_grad=True)

    @ti.kernel
    def run():
        for n in range(3):
            t[n * 6] = 1.0
            for s in range(5):
                before = t[n * 6 + s]
                y[n] += before * x[n, s]
                t[n * 6 + s + 1] = before * (1.0 - x[n, s])

    @ti.kernel
    def by_axes():
        for n in range(3):
            t[n, 0] = 1.0
            for s in range(5):
                before = t[n, s]
                y[n] += before * x[n, s]
                t[n, s + 1] = before * (1.0 - x[n, s])

    launched = run if is_flat else by_axes
    launched()
    y.grad.fill(1.0)
    launched.grad()
    rows = x.to_numpy()
    left = 1 - np.cumprod(1 - rows, 1)[:, -1:]  # y = 1 - Π (1 - x), so its slope is Π / (1 - x)
    np.testing.assert_allclose(x.grad.to_numpy(), (1 - left) / (1 - rows), rtol=1e-12)


def test_rows_that_begin_where_memory_says() -> None:
    x, t, y, first = variable(N), variable(N + 3), variable(3), integers(0, 5, 9)

    @ti.kernel
    def run():
        for n in range(3):
            b = first[n]
            t[b + n] = 1.0
            for s in range(3):
                before = t[b + n + s]
                t[b + n + s + 1] = before * ti.sin(x[b + s])
            y[n] = t[b + n + 3]

    run()
    y.grad.fill(1.0)
    run.grad()
    expected = np.zeros(N)
    for b in (0, 5, 9):
        row = x.to_numpy()[b : b + 3]
        expected[b : b + 3] = np.prod(np.sin(row)) / np.tan(row)
    np.testing.assert_allclose(x.grad.to_numpy(), expected, rtol=1e-12)


def test_planes_of_a_flattened_array() -> None:
    x, t, loss = variable(2, 3, 4), variable(30), scalar()

    @ti.kernel
    def run():
        for n in range(2):
            for j in range(3):
                for s in range(4):
                    t[(n * 3 + j) * 5 + s + 1] = ti.sin(t[(n * 3 + j) * 5 + s]) * x[n, j, s]

    check(lambda: (run(), total(t, loss)), [x, t], loss)
    assert "grad.redone" not in run.ir(stage="marked", mode="reverse")


def test_a_row_that_reaches_into_the_next_is_refused() -> None:
    x, t = variable(3, 6), variable(19)

    @ti.kernel
    def run():
        for n in range(3):
            for s in range(6):
                t[n * 6 + s + 1] = t[n * 6 + s] * x[n, s]

    with pytest.raises(ti.TaichiCompilationError, match=r"is read here and .*serialize=True"):
        run.ir(stage="derived", mode="reverse")


def test_an_inner_loop_of_one_trip_in_steps() -> None:
    """Its history is one element of memory."""
    x, t, loss = variable(5), variable(40), scalar()

    @ti.kernel
    def run():
        ti.loop_config(serialize=True)
        for s in range(5):
            for r in range(4 * s, 4 * s + 2, 2):
                t[3 * s + r + 1] = ti.sin(t[s + r]) * x[s]

    check(lambda: (run(), total(t, loss)), [x, t], loss)


def test_what_passes_never_meets(tmp_path: Path) -> None:
    """Random ranges and indices: where nothing is refused or checked, no iteration meets another
    one, and where nothing is done again, nothing needed is overwritten, as Python counts."""
    random = Random(5)
    cases = [random_body(random) for _ in range(90)]
    source = ["import mlirad as ti", "t = ti.field(ti.f64, 200, needs_grad=True)"]
    for number, (body, trips) in enumerate(cases):
        lines = [f"        {line}" for line in body]
        source += ["@ti.kernel", f"def run{number}():", f"    for n in range({trips}):", *lines]
    module, passed = load("\n".join(source), tmp_path), 0
    for number, (body, trips) in enumerate(cases):
        try:
            noted = getattr(module, f"run{number}").ir(stage="marked", mode="reverse")
        except ti.TaichiCompilationError:
            continue
        passed += 1
        meets, overwrites = brute_force(body, trips)
        assert not meets or "grad.collisions" in noted, "\n".join(body)
        assert not overwrites or "grad.redone" in noted, "\n".join(body)
    assert passed > 10


def random_body(random: Random) -> tuple[list[str], int]:
    """An inner loop, or two in one another, and how many iterations there are around it."""

    def affine(*names: str) -> str:
        factors = [random.choice([0, 1, 1, 2, 3, 4, 6, -1]) for _ in names]
        terms = [f"{factor} * {name}" for factor, name in zip(factors, names)]
        return " + ".join([*terms, str(random.randrange(4))])

    def bounds(*names: str) -> str:
        low, step = affine(*names), random.choice([1, 1, 2, 3])
        return f"{low}, {low} + {random.randint(1, 5)}, {step}"

    lines, names = [f"for s in range({bounds('n')}):"], ["n", "s"]
    if random.random() < 0.4:
        lines += [f"    for r in range({bounds('n', 's')}):"]
        names += ["r"]
    indent = "    " * len(lines)
    lines += [f"{indent}v = t[{affine(*names)} + 40]"]
    return [*lines, f"{indent}t[{affine(*names)} + 40] = ti.sin(v)"], random.randint(2, 4)


def brute_force(body: list[str], trips: int) -> tuple[bool, bool]:
    """Whether iterations write what others read or write, and whether one overwrites what it
    read."""
    code, runs = compile("\n".join(body), "body", "exec"), []
    for n in range(trips):
        t = Touched()
        exec(code, {"n": n, "t": t, "ti": math})
        runs.append(t)
    meets = any(a.written & (b.written | b.read) for a in runs for b in runs if a is not b)
    return meets, any(t.overwrites for t in runs)


class Touched:
    """An array of zeros that notes what is done to it."""

    def __init__(self) -> None:
        self.read: set[int] = set()
        self.written: set[int] = set()
        self.overwrites = False

    def __getitem__(self, index: int) -> float:
        self.read.add(index)
        return 0.0

    def __setitem__(self, index: int, value: float) -> None:
        self.overwrites |= index in self.read
        self.written.add(index)
