"""Derivatives of minima over loops are the same where an iteration is reversed only if it takes an
adjoint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from programs.derived import derived

import mlirad as ti
from mlirad.passes.cpu.sink_taken_adjoints import adjoints

SIZE, POINTS = 37, 5
pytestmark = pytest.mark.cpu_code("a pass of its pipeline")

Program = Callable[[Any, Any, Any], Callable[[], None]]


def nearest(x: Any, y: Any, loss: Any) -> Callable[[], None]:
    """The distance to the nearest of some points, with a root and quotients."""

    @ti.kernel
    def run():
        for i in x:
            best = 1e3
            for k in range(POINTS):
                away = ti.Vector([x[i] - y[k], x[i] * y[k], y[k]])
                best = ti.min(best, away.norm() / (1.0 + y[k] * y[k]) + ti.exp(x[i]) * y[k])
            loss[None] += best * best

    return run


def farthest(x: Any, y: Any, loss: Any) -> Callable[[], None]:
    """A maximum within steps that end one by one, of what has poles, kept from a condition."""

    @ti.kernel
    def run():
        for i in x:
            total = x[i]
            for _ in range(6):
                best = -1e3
                for k in range(POINTS):
                    pole = ti.sqrt(ti.abs(total - y[k])) / y[k]
                    far = pole * ti.sin(total) + ti.log(y[k] * y[k] + x[i]) * total
                    best = ti.max(best, ti.select(y[k] > 0.5, far, y[k] * total))
                total += 0.1 * best
                if total > 4.0:
                    break
            loss[None] += total * total

    return run


def both(x: Any, y: Any, loss: Any) -> Callable[[], None]:
    """A minimum and a maximum of one loop, beside a sum."""

    @ti.kernel
    def run():
        for i in x:
            low, high, total = 1e3, -1e3, 0.0
            for k in range(POINTS):
                value = x[i] * y[k] / (x[i] + y[k]) + ti.cos(x[i]) * y[k] * y[k]
                low, high = ti.min(low, value), ti.max(high, value)
                total += value * value
            loss[None] += total * high - low * high

    return run


PROGRAMS: list[Program] = [nearest, farthest, both]


def derivatives(program: Program, lanes: int, poles: bool) -> dict[str, Any]:
    ti.init(default_fp=ti.f32, lanes=lanes, cpu_max_num_threads=1, offline_cache=False)
    x, y = (ti.field(ti.f32, SIZE, needs_grad=True) for _ in range(2))
    loss = ti.field(ti.f32, (), needs_grad=True)
    random = np.random.default_rng(5)
    run = program(x, y, loss)
    for field in (x, y):
        values = random.uniform(0.6, 2.0, SIZE).astype(np.float32)
        if poles:
            values[1:4:2], values[9] = 0.0, np.inf
        field.from_numpy(values)
    return derived(run, (x, y), loss, random)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("poles", [False, True])
@pytest.mark.parametrize("lanes", [4, 8])
def test_taken_adjoints(
    program: Program, lanes: int, poles: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = derivatives(program, 1, poles)
    moved = []
    sink, move = adjoints.sink, adjoints._AdjointUsers.move
    monkeypatch.setattr(adjoints, "sink", lambda loop, taken, _: sink(loop, taken, 4))
    monkeypatch.setattr(
        adjoints._AdjointUsers, "move", lambda self: moved.append(self) or move(self)
    )
    found = derivatives(program, lanes, poles)
    assert moved
    for name, value in expected.items():
        # a 0 may be there instead of a NaN: numbers in memory count as finite (analysis/finite.py)
        known = np.isfinite(value)
        assert known.all() or poles
        np.testing.assert_allclose(found[name][known], value[known], 2e-3, 2e-3, err_msg=name)
