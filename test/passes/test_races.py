"""Parallel iterations that feed one another, or overwrite each other's results: refused where a
derivative passes."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from gradients import check, names_both, scalar, variable
from programs.load import load
from programs.races import N, apart, meeting

import mlirad as ti

pytestmark = pytest.mark.usefixtures("f64")


def test_a_recurrence_is_refused_and_serial_it_is_right() -> None:
    x, a, loss = variable(8), variable(9), scalar()

    @ti.kernel
    def racing():
        for i in range(8):
            a[i + 1] = a[i] + x[i]

    @ti.kernel
    def serial():
        ti.loop_config(serialize=True)
        for i in range(8):
            a[i + 1] = a[i] + x[i]
        loss[None] = a[8]

    with (
        pytest.raises(ti.TaichiCompilationError, match=r"serialize=True") as caught,
        ti.ad.Tape(loss),
    ):
        racing()
    names_both(caught.value, "a[i + 1] = a[i] + x[i]")
    racing()
    a.fill(1.0)
    check(serial, [x, a], loss)


def test_one_cell_written_by_all_is_refused() -> None:
    x, loss = variable(8), scalar()

    @ti.kernel
    def run():
        for i in range(8):
            loss[None] = x[i]

    with pytest.raises(ti.TaichiCompilationError, match="without an atomic"), ti.ad.Tape(loss):
        run()


def test_constants_guards_and_single_iterations_pass() -> None:
    x, y, loss = variable(8), variable(8), scalar()

    @ti.kernel
    def run(chosen: ti.i32):
        for i in range(8):
            loss[None] = 0.0
            y[i] = x[i] ** 2
        for i in range(8):
            if i == chosen:
                y[0] = 3.0 * x[i]
        for _ in range(1):
            loss[None] = y[0]
        for i, j in ti.ndrange(2, 4):
            loss[None] += y[4 * i + j]

    with ti.ad.Tape(loss):
        run(5)
    expected = np.where(np.arange(8) > 0, 2 * x.to_numpy(), 0.0)
    expected[5] += 6.0
    assert x.grad.to_numpy() == pytest.approx(expected)


def fields() -> dict[str, Any]:
    return {
        "x": variable(N),
        "y": variable(N),
        "u": variable(N, N),
        "m": ti.field(ti.i32, shape=N),
        "loss": scalar(),
    }


def test_conditions_that_exclude_one_another_pass() -> None:
    for function in apart(
        **fields(), solid=ti.field(ti.i32, shape=(N, N)), chosen=ti.field(ti.i32, shape=())
    ):
        ti.kernel(function).ir(1, stage="derived", mode="reverse")


def test_iterations_that_can_meet_under_conditions_are_refused() -> None:
    for function in meeting(**fields()):
        with pytest.raises(ti.TaichiCompilationError, match=r"may be .*serialize=True"):
            ti.kernel(function).ir(1, stage="derived", mode="reverse")


def test_updates_in_red_and_black() -> None:
    u, f, loss = variable(6, 6), variable(6, 6), scalar()

    @ti.kernel
    def relax(colour: ti.i32):
        for i, j in ti.ndrange((1, 5), (1, 5)):
            if (i + j) % 2 == colour:
                u[i, j] = ti.sin(
                    0.25 * (u[i + 1, j] + u[i - 1, j] + u[i, j + 1] + u[i, j - 1]) * f[i, j]
                )

    @ti.kernel
    def total():
        for i, j in u:
            loss[None] += u[i, j] ** 2

    def run() -> None:
        for sweep in range(4):
            relax(sweep % 2)
        total()

    check(run, [u, f], loss)


def random_condition(random: Random, depth: int = 2) -> str:
    """A condition on i, and on k, a constant."""
    if depth and random.random() < 0.5:
        parts = [random_condition(random, depth - 1) for _ in range(2)]
        return random.choice(["({} and {})", "({} or {})", "(not {0})"]).format(*parts)
    number = random.randrange(7)
    index = random.choice(["i", f"(i + {number})", f"({number} - i)", "2 * i", "(i + k)"])
    return random.choice(
        [
            f"{index} % {random.randint(2, 4)} {random.choice(['==', '!='])} {random.randrange(3)}",
            f"{index} % 2",
            f"({index} & {random.choice([1, 3])}) == {random.randrange(3)}",
            f"{index} {random.choice(['<', '>', '<=', '>=', '==', '!='])} {number}",
            f"{index} // 2 == {number}",
            f"m[i + {random.randrange(3)}] == {random.randrange(2)}",
        ]
    )


def test_what_passes_never_meets(tmp_path: Path) -> None:
    """Random conditions: a loop that is not refused is one in which no iteration meets another, as
    Python counts."""
    random = Random(7)
    cases = [(random_condition(random), random.randint(1, 4)) for _ in range(150)]
    source = [
        "import mlirad as ti",
        "x = ti.field(ti.f64, shape=16, needs_grad=True)",
        "m = ti.field(ti.i32, shape=16)",
    ]
    for number, (condition, distance) in enumerate(cases):
        source += [
            "@ti.kernel",
            f"def run{number}(k: ti.i32):",
            "    for i in range(8):",
            f"        if {condition}:",
            f"            x[i + {distance}] = 2.0 * x[i]",
        ]
    module = load("\n".join(source), tmp_path)
    passed = possible = 0
    for number, (condition, distance) in enumerate(cases):
        meets = _meets(condition, distance)
        possible += not meets
        try:
            getattr(module, f"run{number}").ir(1, stage="derived", mode="reverse")
        except ti.TaichiCompilationError:
            continue
        passed += 1
        assert not meets, f"if {condition}: x[i + {distance}] = 2.0 * x[i]"
    assert passed >= 0.6 * possible > 10, (passed, possible)


def _meets(condition: str, distance: int) -> bool:
    """Whether iterations that far apart can both run, for some k and some m of zeros and ones."""
    code = compile(condition, "condition", "eval")
    for k in range(4):
        for bits in range(1 << 11 if "m[" in condition else 1):
            m = [bits >> position & 1 for position in range(11)]
            runs = [bool(eval(code, {"i": i, "k": k, "m": m})) for i in range(8)]
            if any(a and c for a, c in zip(runs, runs[distance:])):
                return True
    return False
