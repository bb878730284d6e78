"""Iterations that meet in one element, through indices of any integer form: against all iterations,
one by one."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from gradients import check, scalar, variable
from programs.load import load

import mlirad as ti

pytestmark = pytest.mark.usefixtures("f64")
HEADER = """import mlirad as ti
x = ti.field(ti.f64, shape=4096, needs_grad=True)
y = ti.field(ti.f64, shape=(8, 8), needs_grad=True)
loss = ti.field(ti.f64, shape=(), needs_grad=True)
"""


def _index(draw: Random, depth: int = 0) -> str:
    """A non-negative expression in i and j."""
    if depth == 2 or draw.random() < 0.3:
        return draw.choice(["i", "j", str(draw.randrange(4))])
    left, right = _index(draw, depth + 1), _index(draw, depth + 1)
    return draw.choice(
        [
            f"({left} + {right})",
            f"({left} + {right})",
            f"({left} * {draw.randrange(1, 9)})",
            f"({left} % {draw.randrange(1, 5)})",
            f"({left} // {draw.randrange(1, 4)})",
            f"ti.max({left}, {right})",
        ]
    )


@pytest.mark.parametrize("part", range(4))
def test_what_is_refused_meets(part: int, tmp_path: Path) -> None:
    draw = Random(part)
    refused = met = 0
    for _ in range(12):
        read, written = _index(draw), _index(draw)
        guard = draw.choice(["True", "True", "i % 2 == 0", "i + j < 5", "i == 3 and j > 2"])
        source = (
            HEADER
            + f"""
@ti.kernel
def run():
    for i, j in ti.ndrange(6, 7):
        if {guard}:
            x[{written}] = 2.0 * x[{read}] + y[i, j]
    for i in x:
        loss[None] += x[i] * i
"""
        )
        module = load(source, tmp_path)
        runs = [(i, j) for i in range(6) for j in range(7) if eval(guard)]
        places = [
            (
                point,
                eval(written, {"ti": ti, "i": point[0], "j": point[1]}),
                eval(read, {"ti": ti, "i": point[0], "j": point[1]}),
            )
            for point in runs
        ]
        meets = any(a != b and wa in (wb, rb) for a, wa, _ in places for b, wb, rb in places)
        met += meets
        try:
            with ti.ad.Tape(module.loss):
                module.run()
        except ti.TaichiCompilationError as error:
            refused += 1
            assert "iteration" in str(error)
            assert meets, source
        else:
            if not meets:
                check(module.run, [module.x, module.y], module.loss)
    assert 0 < refused <= met
    assert refused >= 0.9 * met


def test_iterations_are_named() -> None:
    x = variable(20)

    @ti.kernel
    def halves():
        for i in range(10):
            x[10 + i // 2] = 2.0 * x[i]

    @ti.kernel
    def turned():
        for i in range(10):
            x[9 - i] = 2.0 * x[i]

    @ti.kernel
    def of_any_length(n: ti.i32):
        for i in range(n):
            x[2 * i + 1] = 2.0 * x[i]

    for kernel, arguments, iterations in (
        (halves, (), "1 and 0"),
        (turned, (), "0 and 9"),
        (of_any_length, (8,), "1 and 0"),
    ):
        with (
            pytest.raises(ti.TaichiCompilationError, match=rf"\(iterations {iterations}\)"),
            ti.ad.Tape(scalar()),
        ):
            kernel(*arguments)


def test_what_is_not_known_is_checked() -> None:
    """Indices from memory, and factors that are arguments, may keep iterations apart."""
    x, loss = variable(20), scalar()
    order = ti.field(ti.i32, 10)
    order.from_numpy(np.random.default_rng(0).permutation(10).astype(np.int32))

    @ti.kernel
    def run(width: ti.i32):
        for i in range(10):
            x[order[i]] = 2.0 * x[10 + order[i]]
        for i, j in ti.ndrange(4, 5):
            x[i * width + j] = x[i * width + j] ** 2
        for i in x:
            loss[None] += x[i] * i

    def program() -> Any:
        run(5)

    check(program, [x], loss)
    with (
        pytest.raises(ti.TaichiRuntimeError, match=r"iteration \(\d, \d\) of a parallel loop"),
        ti.ad.Tape(loss),
    ):
        run(4)
