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
    with pytest.raises(TypeError, match="that computes it"):
        ti.ad.check(loss, x)
    with pytest.raises(RuntimeError, match="has run"):
        ti.ad.check(ti.ad.Tape(loss), x)


def losses_of(function: Any) -> Any:
    """A field, a loss, and the kernel that sums a function of the field's elements."""
    x, loss = variable(4), scalar()

    @ti.kernel
    def total():
        for i in x:
            loss[None] += function(x[i])

    return x, loss, total


@ti.func
def hinge(a):
    return ti.max(a, 0.0) * 3.0


@ti.func
def branch(a):
    return ti.select(a < 0.0, -a, 2.0 * a)


@ti.func
def steps(a):
    return ti.floor(a) + 0.5 * a


@ti.func
def halvings(a):
    """The loop ends earlier once the value is below 1."""
    b = a + 1.0
    for _ in range(5):
        if b < 1.0:
            break
        b = 0.5 * b + 0.5 * a
    return b


@pytest.mark.parametrize(
    ("function", "before", "behind"),
    [
        (hinge, "0", "3"),
        (branch, "-1", "2"),
        (steps, "not finite", "0.5"),
    ],
)
def test_a_decision_at_the_point_is_named(function: Any, before: str, behind: str) -> None:
    x, loss, total = losses_of(function)
    x[2] = 0.0
    slopes = f"slope is {before} before the point and {behind} after it"
    with pytest.warns(UserWarning, match=rf"In 'x'\[2\].*crosses a decision.*{slopes}"):
        ti.ad.check(loss, x, total)


def test_a_break_near_the_point() -> None:
    x, loss, total = losses_of(halvings)
    x[0] = 1e-7
    ti.ad.check(loss, x, total)


@pytest.mark.parametrize("distance", [1e-3, 1e-5, 1e-6, 2e-7])
def test_smaller_steps_are_tried(distance: float, capsys: pytest.CaptureFixture[str]) -> None:
    """A step crosses a decision, and a smaller one does not."""
    x, loss, total = losses_of(hinge)
    x[1] = distance
    ti.ad.check(loss, x, total)
    assert capsys.readouterr().out == (
        "ti.ad.check: the gradient with respect to 'x' (4 elements) agrees with finite "
        "differences\n"
    )


def test_many_decisions_in_a_random_direction() -> None:
    x, loss = variable(50), scalar()
    x.fill(0.0)

    @ti.kernel
    def total():
        for i in x:
            loss[None] += hinge(x[i])

    with pytest.warns(UserWarning, match=r"along a random direction.*decision.*\(\d+ more\)"):
        ti.ad.check(loss, x, total)


def test_a_wrong_gradient_at_a_decision_fails() -> None:
    x, loss = variable(1), scalar()
    x.fill(0.0)

    @ti.kernel
    def total():
        for i in x:
            loss[None] += hinge(x[i])

    @ti.kernel
    def wrong():
        for i in x:
            x.grad[i] += 7.0 * loss.grad[None]

    @ti.ad.grad_replaced
    def forward() -> None:
        total()

    @ti.ad.grad_for(forward)
    def backward() -> None:
        wrong()

    with pytest.raises(ti.TaichiAssertionError, match=r"gradient is 7.0.*crosses a decision"):
        ti.ad.check(loss, x, forward)


def test_one_launch_has_nothing_between_launches() -> None:
    x, loss, total = losses_of(hinge)
    with ti.ad.Tape(loss) as tape:
        total()
    x.grad[0] += 1.0
    with pytest.raises(ti.TaichiAssertionError, match=r"kernel 'total'.*changed after") as caught:
        ti.ad.check(tape, x)
    assert "between" not in str(caught.value)


def test_a_loss_that_is_not_a_number() -> None:
    x, loss = variable(2), scalar()

    @ti.kernel
    def total():
        for i in x:
            loss[None] += ti.log(x[i])

    x[0] = -1.0
    with pytest.raises(ti.TaichiAssertionError, match=r"the loss is nan.*anomaly=True"):
        ti.ad.check(loss, x, total)


def test_a_gradient_that_is_not_finite() -> None:
    x, loss = variable(1), scalar()

    @ti.kernel
    def total():
        for i in x:
            loss[None] += ti.sqrt(x[i])

    x[0] = 0.0
    with pytest.raises(ti.TaichiAssertionError, match=r"gradient is inf.*anomaly=True"):
        ti.ad.check(loss, x, total)
