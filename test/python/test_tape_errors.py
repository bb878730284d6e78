"""Requests that a tape refuses, and blocks that end by an exception: fields and gradients stay as they were."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gradients import scalar, variable

import mlirad as ti

pytestmark = [pytest.mark.usefixtures("f64"), pytest.mark.filterwarnings("ignore:.*is read in Python inside a tape")]


@pytest.fixture
def program(f64: int) -> tuple[Any, Any, Callable[[], None]]:
    """Two fields whose values and gradients are numbers, and a kernel that overwrites what its gradient needs."""
    x, loss = variable(4), scalar()

    @ti.kernel
    def step():
        for i in x:
            loss[None] += x[i] * x[i]
            x[i] = ti.sin(x[i])

    x.grad.fill(3.0)
    loss[None] = 5.0
    loss.grad[None] = 7.0
    return x, loss, step


def contents(x: Any, loss: Any) -> list[np.ndarray[Any, Any]]:
    """Everything in memory."""
    return [x.to_numpy(), x.grad.to_numpy(), loss.to_numpy(), loss.grad.to_numpy()]


def check_works(x: Any, loss: Any, step: Callable[[], None]) -> None:
    """A tape afterwards is right."""
    x.fill(0.5)
    with ti.ad.Tape(loss):
        step()
    np.testing.assert_allclose(x.grad.to_numpy(), 1.0)
    np.testing.assert_allclose(x.to_numpy(), np.sin(0.5))


@pytest.mark.parametrize("options", [{"rules": "keep"}, {"rules": None}, {"grad_check": 3}])
def test_contradictory_requests(program: Any, options: dict[str, Any]) -> None:
    x, loss, step = program
    before = contents(x, loss)
    with pytest.raises((ValueError, TypeError, RuntimeError)), ti.ad.Tape(loss, **options):
        step()
    for now, then in zip(contents(x, loss), before):
        np.testing.assert_array_equal(now, then)
    check_works(x, loss, step)


def test_a_tape_entered_twice(program: Any) -> None:
    x, loss, step = program
    tape = ti.ad.Tape(loss)
    with tape:
        step()
    before = contents(x, loss)
    with pytest.raises(AssertionError, match="only once"), tape:
        step()
    for now, then in zip(contents(x, loss), before):
        np.testing.assert_array_equal(now, then)
    check_works(x, loss, step)


def test_nested_tapes(program: Any) -> None:
    x, loss, step = program
    other = scalar()
    with ti.ad.Tape(loss):
        step()
        before = contents(x, loss)
        with pytest.raises(RuntimeError, match="nested"), ti.ad.Tape(other):
            step()
        for now, then in zip(contents(x, loss), before):
            np.testing.assert_array_equal(now, then)
    assert x.grad.to_numpy().all()
    check_works(x, loss, step)


def test_an_exception_in_the_block(program: Any) -> None:
    x, loss, step = program
    with pytest.raises(KeyError, match="mine"), ti.ad.Tape(loss):
        step()
        step()
        left = x.to_numpy()
        raise KeyError("mine")
    np.testing.assert_array_equal(x.to_numpy(), left)
    assert not x.grad.to_numpy().any()
    check_works(x, loss, step)


def test_a_launch_that_the_rules_refuse(program: Any) -> None:
    x, loss, step = program
    before = x.to_numpy()
    with pytest.raises(ti.TaichiRuntimeError, match="overwritten"), ti.ad.Tape(loss, rules="refuse"):
        step()
    np.testing.assert_array_equal(x.to_numpy(), before)
    assert loss[None] == 0.0
    check_works(x, loss, step)
