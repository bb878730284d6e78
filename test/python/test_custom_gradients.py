"""Functions whose gradient is another function, or nothing."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gradients import scalar, variable

import mlirad as ti

pytestmark = pytest.mark.usefixtures("f64")


def scaled_sum(x: Any, loss: Any) -> Any:
    @ti.kernel
    def add(factor: ti.f64):
        for i in range(4):
            loss[None] += x[i] * factor

    return add


def test_the_tape_calls_the_given_gradient() -> None:
    x, loss = variable(4), scalar()
    add = scaled_sum(x, loss)

    def helper(factor: float) -> None:
        add(factor)

    @ti.ad.grad_replaced
    def forward(factor: float) -> str:
        helper(factor)
        add(factor)
        return "done"

    assert forward.grad is None

    @ti.ad.grad_for(forward)
    def backward(factor: float) -> None:
        add.grad(factor)

    with ti.ad.Tape(loss) as tape:
        assert forward(4.0) == "done"
        assert tape.calls == [(forward, (4.0,))]
    assert x.grad.to_numpy() == pytest.approx(4.0)
    assert loss[None] == pytest.approx(8.0 * x.to_numpy().sum())


def test_methods_and_keywords() -> None:
    class Model:
        def __init__(self) -> None:
            self.x, self.loss = variable(4), scalar()
            self.add = scaled_sum(self.x, self.loss)

        @ti.ad.grad_replaced
        def forward(self, factor: float = 1.0) -> None:
            self.add(factor)

        @ti.ad.grad_for(forward)
        def backward(self, factor: float = 1.0) -> None:
            self.add.grad(10.0 * factor)

        @ti.ad.no_grad
        def report(self) -> None:
            self.add(100.0)

    model = Model()
    with ti.ad.Tape(model.loss):
        model.forward(factor=2.0)
        model.report()
    assert model.x.grad.to_numpy() == pytest.approx(20.0)


def test_no_grad_cuts_and_keeps_what_others_need() -> None:
    x, loss = variable(4), scalar()
    start = x.to_numpy()

    @ti.kernel
    def square():
        for i in range(4):
            loss[None] += x[i] ** 2

    @ti.kernel
    def spoil():
        for i in range(4):
            x[i] = 100.0

    @ti.ad.no_grad
    def change() -> None:
        spoil()
        x[0] = 7.0

    with ti.ad.Tape(loss) as tape:
        square()
        change()
    assert x.grad.to_numpy() == pytest.approx(2 * start)
    assert x.to_numpy() == pytest.approx([7.0, 100.0, 100.0, 100.0])
    assert tape.explain().bytes == start.nbytes
    x.from_numpy(start)
    with pytest.raises(ti.TaichiRuntimeError, match=r"'x'.*is overwritten"), ti.ad.Tape(loss, rules="refuse"):
        square()
        change()


def test_a_given_gradient_sees_memory_as_its_call_left_it() -> None:
    x, loss = variable(4), scalar()
    start = x.to_numpy()

    @ti.kernel
    def square():
        for i in range(4):
            loss[None] += x[i] ** 2

    @ti.kernel
    def spoil():
        for i in range(4):
            x[i] = 100.0 + 0.0 * x[i]

    @ti.ad.grad_replaced
    def forward() -> None:
        square()

    @ti.ad.grad_for(forward)
    def backward() -> None:
        square.grad()

    with ti.ad.Tape(loss):
        forward()
        spoil()
    assert x.grad.to_numpy() == pytest.approx(2 * start)
    assert np.all(x.to_numpy() == 100.0)
    x.from_numpy(start)
    with ti.ad.Tape(loss, rules="refuse"):
        forward()
        square()
    assert x.grad.to_numpy() == pytest.approx(4 * start)


def test_errors() -> None:
    x, loss = variable(4), scalar()
    add = scaled_sum(x, loss)
    with pytest.raises(RuntimeError, match="python"):
        ti.ad.grad_for(add)(lambda factor: None)
    with pytest.raises(RuntimeError, match="python"):
        ti.ad.grad_replaced(add)
    with pytest.raises(RuntimeError, match="decorated by"):
        ti.ad.grad_for(lambda factor: None)(lambda factor: None)

    @ti.ad.grad_replaced
    def forward(factor: float) -> None:
        add(factor)

    with pytest.raises(RuntimeError, match="grad_for"), ti.ad.Tape(loss):
        forward(1.0)
    ti.ad.grad_for(forward)(add.grad)
    with pytest.raises(RuntimeError, match="already"):
        ti.ad.grad_for(forward)(add.grad)


def test_an_error_inside_leaves_the_tape_as_it_was() -> None:
    x, loss = variable(4), scalar()
    add = scaled_sum(x, loss)

    @ti.ad.no_grad
    def fail() -> None:
        raise KeyError("mine")

    with ti.ad.Tape(loss):
        with pytest.raises(KeyError, match="mine"):
            fail()
        add(3.0)
    assert x.grad.to_numpy() == pytest.approx(3.0)
