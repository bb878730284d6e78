"""Derivatives of programs with many poles are the same where guards of adjoints of 0 are left out
at first, and computed where that gives a NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from programs.derived import derived

import mlirad as ti
from mlirad.ir import build as b
from mlirad.passes.cpu.sink_zero_guards import stretch

SIZE = 37
pytestmark = pytest.mark.cpu_code("a pass of its pipeline")

Program = Callable[[Any, Any, Any], Callable[[], None]]


def quotients(x: Any, y: Any, loss: Any) -> Callable[[], None]:
    """A chain of poles, dropped where it is not finite."""

    @ti.kernel
    def run():
        for i in x:
            a = x[i] / y[i]
            b = ti.sqrt(ti.abs(x[i] * y[i])) * a
            c = ti.log(y[i] * y[i]) * b + a * a
            d = c / (x[i] - 1.0) + ti.sqrt(c * c) * b
            loss[None] += ti.select(y[i] > 0.0 and x[i] > 1.0, d * c, x[i] * y[i])

    return run


def serial_sums(x: Any, y: Any, loss: Any) -> Callable[[], None]:
    """Poles in an inner loop that carries what is made of them, and beside what it stores."""

    @ti.kernel
    def run():
        for i in x:
            total = 1.0
            for k in range(5):
                far = ti.Vector([x[i] - k, y[i], x[i] * y[i]])
                length = far.norm()
                step = far / (length * length) + far.normalized() * ti.sqrt(total)
                if length > 1.0:
                    total += step.dot(far) / total + step[0] * step[1] / length
            loss[None] += total * total

    return run


def shared(x: Any, y: Any, loss: Any) -> Callable[[], None]:
    """Poles whose derivatives go to elements that iterations share."""

    @ti.kernel
    def run():
        for i in x:
            a = x[i] / y[i % 3] + ti.sqrt(x[i])
            b = a / x[(i + 1) % SIZE] * ti.log(a) + ti.sqrt(y[i % 3]) / a
            c = b / y[i] + a / b
            if x[i] > 0.5 and y[i] > 0.5 and y[i % 3] > 0.5 and x[(i + 1) % SIZE] > 0.5:
                loss[None] += c * b

    return run


PROGRAMS: list[Program] = [quotients, serial_sums, shared]


def derivatives(program: Program, lanes: int, fast: bool, poles: bool) -> dict[str, Any]:
    ti.init(
        default_fp=ti.f32, lanes=lanes, fast_math=fast, cpu_max_num_threads=1, offline_cache=False
    )
    x, y = (ti.field(ti.f32, SIZE, needs_grad=True) for _ in range(2))
    loss = ti.field(ti.f32, (), needs_grad=True)
    random = np.random.default_rng(3)
    run = program(x, y, loss)
    for field in (x, y):
        values = random.uniform(0.6, 4.0, SIZE).astype(np.float32)
        if poles:
            values[::5], values[3::7], values[9] = 0.0, 1.0, np.inf
        field.from_numpy(values)
    return derived(run, (x, y), loss, random)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("poles", [False, True])
@pytest.mark.parametrize("fast", [False, True], ids=["exact", "fast"])
@pytest.mark.parametrize("lanes", [4, 8])
def test_sunk_guards(
    program: Program, lanes: int, fast: bool, poles: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = derivatives(program, 1, fast, poles)
    calls = []
    run = stretch._Stretch.run
    monkeypatch.setattr(stretch, "_FIXED", 2)
    for limit in ("_MOST", "_PART"):
        monkeypatch.setattr(stretch, limit, 1000)
    monkeypatch.setattr(
        stretch._Stretch, "run", lambda self, kept: calls.append(self) or run(self, kept)
    )
    found = derivatives(program, lanes, fast, poles)
    assert calls
    for name, value in expected.items():
        if fast:
            np.testing.assert_array_equal(np.isfinite(found[name]), np.isfinite(value), name)
            np.testing.assert_allclose(found[name], value, 2e-3, 2e-3, err_msg=name)
        else:
            np.testing.assert_array_equal(found[name], value, name)


def test_poles_are_met(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a look at the results, these would be wrong."""
    for limit in ("_MOST", "_PART"):
        monkeypatch.setattr(stretch, limit, 1000)
    expected = derivatives(quotients, 8, False, True)
    never = lambda values: b.number(0, b.integer_type(1))  # noqa: E731
    monkeypatch.setattr(b, "is_nan_anywhere", never)
    found = derivatives(quotients, 8, False, True)
    assert np.isnan(found["gradient 0"]).sum() > np.isnan(expected["gradient 0"]).sum()
