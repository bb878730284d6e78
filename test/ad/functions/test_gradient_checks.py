"""`ti.ad.check` and `grad_check`: gradients against finite differences, and the launch that
disagrees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gradients import names_both, scalar, variable

import mlirad as ti
from mlirad.analysis.rules import table as _rules

pytestmark = pytest.mark.usefixtures("f64")


def in_place(x: Any, loss: Any) -> Any:
    @ti.kernel
    def step():
        for i in x:
            x[i] = ti.sin(x[i]) + 0.5 * x[i] ** 2

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i] ** 3

    def run() -> None:
        step()
        x[1] = 0.25
        step()
        total()

    return run


@pytest.mark.parametrize("size", [4, 50])
@pytest.mark.filterwarnings("ignore:.*is written in Python inside a tape")
def test_a_right_gradient_passes_and_memory_stays(size: int) -> None:
    x, loss = variable(size), scalar()
    run = in_place(x, loss)
    start = x.to_numpy()
    run()
    end = x.to_numpy()
    x.from_numpy(start)
    ti.ad.check(loss, x, run)
    assert np.array_equal(x.to_numpy(), end)
    assert x.grad[1] == 0.0
    assert np.all(x.grad.to_numpy()[2:] != 0)
    x.from_numpy(start)
    with ti.ad.Tape(loss, grad_check=[x]) as tape:
        run()
    assert np.array_equal(x.to_numpy(), end)
    tape.grad()


@pytest.mark.filterwarnings("ignore:.*is written in Python inside a tape")
def test_a_tape_is_repeated_from_the_present_fields() -> None:
    x, y, loss = variable(4), variable(4), scalar()

    @ti.kernel
    def square(factor: ti.f64):
        for i in x:
            y[i] = factor * x[i] ** 2

    @ti.kernel
    def total():
        for i in y:
            loss[None] += y[i]

    with ti.ad.Tape(loss) as tape:
        square(3.0)
        total()
    ti.ad.check(tape, [x])
    with ti.ad.Tape(loss) as tape:
        in_place(x, loss)()
    with pytest.raises(ti.TaichiRuntimeError, match="Python wrote"):
        ti.ad.check(tape, x)


def test_what_is_not_repeatable_is_said() -> None:
    x, loss = variable(4), scalar()

    @ti.kernel
    def grow():
        for i in x:
            x[i] *= 2.0
            loss[None] += x[i]

    with ti.ad.Tape(loss) as tape:
        grow()
    with pytest.raises(ti.TaichiRuntimeError, match="from the same fields"):
        ti.ad.check(tape, x)
    ti.ad.check(loss, x, grow)


def test_random_numbers_are_drawn_again() -> None:
    x, loss = variable(4), scalar()

    @ti.kernel
    def run():
        for i in x:
            loss[None] += x[i] ** 2 * ti.random(ti.f64)

    ti.ad.check(loss, x, run)
    first = x.grad.to_numpy()
    ti.ad.check(loss, x, run)
    assert np.all(x.grad.to_numpy() != first)


def test_the_wrong_kernel_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y, loss = variable(4), variable(4), scalar()
    monkeypatch.setitem(_rules.RULES, "math.sin", _rules.RULES["math.cos"])

    @ti.kernel
    def first():
        for i in x:
            y[i] = x[i] ** 2

    @ti.kernel
    def second():
        for i in y:
            loss[None] += ti.sin(y[i])

    @ti.kernel
    def third():
        loss[None] = loss[None] ** 2

    def run() -> None:
        first()
        second()
        third()

    with pytest.raises(
        ti.TaichiAssertionError, match=r"\[0\] the gradient is .*kernel 'second'"
    ) as caught:
        ti.ad.check(loss, x, run)
    names_both(caught.value, "def second():")
    with (
        pytest.raises(ti.TaichiAssertionError, match="Not all pass finite difference check"),
        ti.ad.Tape(loss, grad_check=[x]),
    ):
        run()


def test_a_wrong_function_is_named() -> None:
    x, loss = variable(4), scalar()

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i]

    @ti.ad.grad_replaced
    def forward() -> None:
        total()

    @ti.ad.grad_for(forward)
    def backward() -> None:
        total.grad()
        total.grad()

    with pytest.raises(ti.TaichiAssertionError, match="function 'forward' disagrees"):
        ti.ad.check(loss, x, forward)


def test_written_ndarrays_are_refused() -> None:
    x, loss, array = variable(4), scalar(), ti.ndarray(ti.f64, shape=4)

    @ti.kernel
    def grow(a: ti.types.ndarray(dtype=ti.f64, ndim=1)):
        for i in x:
            a[i] += 1.0
            loss[None] += x[i] ** 2

    with pytest.raises(RuntimeError, match=r"kernel 'grow'.*array argument"):
        ti.ad.check(loss, x, lambda: grow(array))


def test_errors() -> None:
    x, loss = variable(4), scalar()
    plain, single = ti.field(ti.f64, shape=3), ti.field(ti.f32, shape=(), needs_grad=True)
    for wrong in (plain, 3.0, [x, "y"]):
        with pytest.raises(TypeError, match="fields that have a gradient"):
            ti.ad.check(loss, wrong, lambda: None)
        with pytest.raises(TypeError, match="grad_check takes fields"):
            ti.ad.Tape(loss, grad_check=wrong)
    with pytest.raises(TypeError, match="f64"):
        ti.ad.check(loss, single, lambda: None)
    with pytest.raises(AssertionError, match="f64"):
        ti.ad.check(single, x, lambda: None)
    with pytest.raises(AssertionError, match="f64"), ti.ad.Tape(single, grad_check=[x]):
        pass
    with pytest.raises(TypeError, match="what computes it"):
        ti.ad.check(loss, x)
    with pytest.raises(RuntimeError, match="has run"):
        ti.ad.check(ti.ad.Tape(loss), x)
