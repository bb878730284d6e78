"""Tapes, checkpointed loops, forward mode and second order over sparse fields, beside dense ones;
activity is as it was when all is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import mlirad as ti

LAYOUTS: dict[str, Callable[[], Any]] = {
    "pointer": lambda: ti.root.pointer(ti.i, 8).dense(ti.i, 4),
    "bitmasked": lambda: ti.root.pointer(ti.i, 8).bitmasked(ti.i, 4),
    "dynamic": lambda: ti.root.dynamic(ti.i, 32),
}
STEPS = 6


@dataclass
class Program:
    """A state of 32 numbers that a parameter drives; three of them are written to in a step."""

    x: Any
    loss: Any
    drive: Any
    begin: Callable[[], None]
    step: Callable[[int], None]
    total: Callable[[], None]
    count: Callable[[], int]
    block: Any


def _program(make: Callable[[], Any]) -> Program:
    ti.init()
    x, loss, drive = ti.field(ti.f64), ti.field(ti.f64, ()), ti.field(ti.f64, ())
    found = ti.field(ti.i32, ())
    block = make()
    block.place(x)
    ti.root.lazy_grad()
    ti.root.lazy_dual()

    @ti.kernel
    def begin():
        for i in range(3):
            x[i * 5] = drive[None] * (i + 1)

    @ti.kernel
    def step(t: ti.i32):
        for i in range(3):
            place = i * 5 + t % 4 * 4
            x[place] = 0.5 * x[place] * x[place] + drive[None] + 0.125

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i] * x[i]

    @ti.kernel
    def count_active():
        for _ in ti.grouped(x):
            found[None] += 1

    def count() -> int:
        found[None] = 0
        count_active()
        return int(found[None])

    drive[None] = 0.75
    return Program(x, loss, drive, begin, step, total, count, block)


def _run(made: Program, steps: Any) -> tuple[Any, ...]:
    with ti.ad.Tape(made.loss):
        made.begin()
        for t in steps(made):
            made.step(t)
        made.total()
    gradient = made.x.grad.to_numpy()
    return made.loss[None], made.drive.grad[None], made.x.to_numpy(), gradient, made.count()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_tapes_and_checkpointed_loops(layout: str) -> None:
    dense = _run(_program(lambda: ti.root.dense(ti.i, 32)), lambda made: range(STEPS))
    whole = _run(_program(LAYOUTS[layout]), lambda made: range(STEPS))
    kept = _run(
        _program(LAYOUTS[layout]),
        lambda made: ti.ad.checkpointed(range(STEPS), state=[made.x], snapshots=2),
    )
    for one, two, three in zip(dense[:4], whole[:4], kept[:4]):
        assert np.array_equal(one, two) and np.array_equal(two, three)
    assert whole[4] == kept[4] < 32


@pytest.mark.parametrize("layout", LAYOUTS)
def test_forward_mode_and_second_order(layout: str) -> None:
    made = _program(LAYOUTS[layout])
    _, gradient, *_ = _run(made, lambda made: range(STEPS))
    assert made.drive.grad[None] == gradient
    made = _program(LAYOUTS[layout])
    with ti.ad.FwdMode(loss=made.loss, param=made.drive):
        made.begin()
        for t in range(STEPS):
            made.step(t)
        made.total()
    assert made.loss.dual[None] == pytest.approx(gradient, rel=1e-13)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_deactivation_is_a_store_of_zeros(layout: str) -> None:
    """What lay there before has no influence any more, but for bitmasked cells, which keep it."""
    made = _program(LAYOUTS[layout])
    with ti.ad.Tape(made.loss):
        made.begin()
        made.total()
        (made.block.parent() if layout == "pointer" else made.block).deactivate_all()
        made.total()  # of nothing
        made.x[31] = 2.0
        made.step(0)
        made.total()
    p, active = 0.75, made.count()
    left = [p * (i + 1) if layout == "bitmasked" else 0.0 for i in range(3)]
    after = [0.5 * one * one + p + 0.125 for one in left]
    before = sum((p * (i + 1)) ** 2 for i in range(3))
    assert made.loss[None] == pytest.approx(before + sum(one * one for one in after) + 4.0)
    slopes = [one * (i + 1) + 1 if layout == "bitmasked" else 1.0 for i, one in enumerate(left)]
    wanted = sum(2 * p * (i + 1) ** 2 for i in range(3))
    wanted += sum(2 * one * slope for one, slope in zip(after, slopes))
    assert made.drive.grad[None] == pytest.approx(wanted)
    assert [made.x[i * 5] for i in range(3)] == pytest.approx(after)
    assert active == {"pointer": 16, "bitmasked": 4, "dynamic": 32}[layout] == made.count()


def test_a_gradient_is_cleared_where_its_field_is_not_active() -> None:
    made = _program(LAYOUTS["pointer"])

    @ti.kernel
    def read():
        for i in range(32):
            made.loss[None] += 3.0 * made.x[i]

    for _ in range(2):
        with ti.ad.Tape(made.loss):
            read()
        assert made.x.grad.to_numpy().tolist() == [3.0] * 32
        assert made.count() == 0
    ti.ad.clear_all_gradients()
    assert not made.x.grad.to_numpy().any()


def test_a_gradient_that_is_placed_beside_its_field_is_where_the_others_are() -> None:
    ti.init()
    x = ti.field(ti.f32, needs_grad=True)
    ti.root.pointer(ti.i, 4).dense(ti.i, 2).place(x, x.grad)
    x[3] = 1.0
    assert x.grad is not None and x.grad[3] == 0.0 and x.grad.shape == (8,)


def test_deactivation_in_a_checkpointed_loop() -> None:
    def run(steps: Callable[[Program], Any]) -> tuple[Any, ...]:
        made = _program(LAYOUTS["pointer"])
        with ti.ad.Tape(made.loss):
            made.begin()
            for t in steps(made):
                if t == 2:
                    made.block.parent().deactivate_all()
                made.step(t)
            made.total()
        return made.loss[None], made.drive.grad[None], made.count(), made.x.to_numpy().tolist()

    whole = run(lambda made: range(STEPS))
    kept = run(lambda made: ti.ad.checkpointed(range(STEPS), state=[made.x], snapshots=2))
    assert whole == kept


@pytest.mark.parametrize("extent", [8, 4096])
def test_sparse_scratch_that_each_step_empties(extent: int) -> None:
    """Whatever was active when a step is run again, scratch passes no derivative to it."""
    ti.init()
    x, grid, loss = ti.field(ti.f64, ()), ti.field(ti.f64), ti.field(ti.f64, ())
    block = ti.root.pointer(ti.i, extent)
    block.dense(ti.i, 4).place(grid)
    ti.root.lazy_grad()

    @ti.kernel
    def clear():
        for i in block:
            ti.deactivate(block, i)

    @ti.kernel
    def spread(t: ti.i32):
        grid[t * t % 7 * 4] += x[None] * x[None]

    @ti.kernel
    def gather():
        x[None] *= 0.5
        for i in grid:
            x[None] += 0.25 * grid[i]

    @ti.kernel
    def total():
        loss[None] += x[None]

    def run(steps: Callable[[], Any]) -> float:
        x[None] = 0.75
        with ti.ad.Tape(loss):
            for t in steps():
                clear()
                spread(t)
                gather()
            total()
        return float(x.grad[None])

    wanted = run(lambda: range(9))
    kept: Any = {"state": [x], "scratch": [grid], "snapshots": 2}
    assert run(lambda: ti.ad.checkpointed(range(9), **kept)) == wanted
    assert run(lambda: ti.ad.checkpointed(iter(range(9)), **kept)) == wanted


@pytest.mark.parametrize("kind", ["pointer", "bitmasked"])
def test_second_derivatives_and_checks(kind: str) -> None:
    """Of the sum of u(a)**3, u(a) = a sin(a), by calculus; and a gradient against differences."""
    ti.init(default_fp=ti.f64)
    x, y = ti.field(ti.f64), ti.field(ti.f64)
    for f in (x, y):
        getattr(ti.root, kind)(ti.i, 8).dense(ti.i, 4).place(f)
    loss = ti.field(ti.f64, shape=(), needs_grad=True)
    ti.root.lazy_grad()

    @ti.kernel
    def clear():
        for i in y:
            y[i] = 0.0

    @ti.kernel
    def reflect():
        for i in x:
            y[31 - i] += ti.sin(x[i]) * x[i]

    @ti.kernel
    def cost():
        for i in y:
            loss[None] += y[i] ** 3

    def program() -> None:
        clear()
        reflect()
        cost()

    places = np.arange(5, 10)
    for i in places:
        x[int(i)] = 0.1 * i
    direction, a = np.zeros(32), 0.1 * places
    direction[places] = places
    u, du, ddu = a * np.sin(a), np.sin(a) + a * np.cos(a), 2 * np.cos(a) - a * np.sin(a)
    found = ti.ad.hvp(program, loss, x, direction)
    expected = np.zeros(32)
    expected[places] = (6 * u * du**2 + 3 * u**2 * ddu) * places
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    ti.ad.check(loss, x, run=program)


@pytest.mark.parametrize("size", [4, 4096], ids=["small", "in_pieces"])
@pytest.mark.parametrize("kind", ["pointer", "bitmasked", "dynamic"])
def test_inactive_elements_have_one_derivative_in_every_mode(kind: str, size: int) -> None:
    """Of y² + y by an element that is not active: 0 in a pointer block and in a list; what it held,
    3, in a bitmasked one."""
    ti.init(default_fp=ti.f64)
    x, y, loss = ti.field(ti.f64), ti.field(ti.f64, ()), ti.field(ti.f64, ())
    block = getattr(ti.root, kind)(ti.i, size)
    block.place(x)
    ti.root.lazy_grad()
    x[2] = 3.0
    block.deactivate_all()
    x[0] = 1.0

    @ti.kernel
    def read():
        y[None] = x[2]

    @ti.kernel
    def square():
        loss[None] += y[None] ** 2 + y[None] + x[0]

    def program() -> None:
        read()
        square()

    value = 3.0 if kind == "bitmasked" else 0.0
    direction = np.zeros(size)
    direction[2] = 1.0
    with ti.ad.Tape(loss):
        program()
    assert x.grad[2] == 2 * value + 1 and x.grad[0] == 1.0
    with ti.ad.FwdMode([loss, x], x, direction):
        program()
    assert loss.dual[None] == 2 * value + 1
    np.testing.assert_array_equal(x.dual.to_numpy(), direction)
    product = np.asarray(ti.ad.hvp(program, loss, x, direction))
    np.testing.assert_array_equal(product, 2 * direction)
