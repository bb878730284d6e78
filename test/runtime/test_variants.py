"""What is compiled, and what is known without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad as ti
from mlirad.pipeline.mode import ANOMALY_REVERSE, REVERSE, Mode
from mlirad.runtime.program import program

N = 4


@pytest.fixture
def squares() -> tuple[Callable[[], None], Any, Any]:
    """A program that adds up squares, its input and its loss."""
    ti.init(default_fp=ti.f64, cpu_max_num_threads=1, opt_level=0)
    x = ti.field(ti.f64, shape=N, needs_grad=True)
    loss = ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def add():
        for i in x:
            loss[None] += x[i] * x[i]

    return add, x, loss


def compiled() -> set[Mode]:
    """The modes of which there is code."""
    return {mode for codes in program().compiled for mode in codes.compiled}


def test_an_anomaly_tape_compiles_its_own_reverse_alone(squares: Any) -> None:
    add, _, loss = squares
    with ti.ad.Tape(loss, anomaly=True):
        add()
    assert ANOMALY_REVERSE in compiled()
    assert REVERSE not in compiled()


def test_a_hessian_compiles_its_own_reverse_alone(squares: Any) -> None:
    add, x, loss = squares
    found = ti.ad.hvp(add, loss, x, np.arange(N, dtype=float))
    np.testing.assert_allclose(found, 2.0 * np.arange(N))
    assert [str(mode) for mode in compiled() if mode.is_reverse] == ["forward-reverse"]


def test_footprints_are_found_without_code(squares: Any) -> None:
    add, x, _ = squares
    variant = add.prepare(program(), (), {}).variant
    assert [access.array for access in variant.notes.footprints().needed] == [x.symbol]
    assert not variant.codes.compiled


def test_reverses_become_machine_code_when_they_run(squares: Any) -> None:
    add, x, loss = squares
    x.fill(3.0)
    with ti.ad.Tape(loss):
        add()
        assert REVERSE not in compiled()
    assert REVERSE in compiled()
    np.testing.assert_array_equal(x.grad.to_numpy(), np.full(N, 6.0))


def test_infinities_found_meanwhile_compile_no_reverse_twice(
    squares: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    add, x, loss = squares
    y = ti.field(ti.f64, shape=N, needs_grad=True)

    @ti.kernel
    def divide():
        for i in x:
            y[i] = 1.0 / x[i]

    @ti.kernel
    def put():
        for i in x:
            x[i] = 1.0 / y[i]

    x.fill(2.0)
    names = []
    compile_ = program().executor.compile

    def noted(lowered: Any, *others: Any) -> Any:
        names.append(lowered.name)
        return compile_(lowered, *others)

    monkeypatch.setattr(program().executor, "compile", noted)
    with ti.ad.Tape(loss):
        add()
        divide()
        put()
        add()
    assert sorted(names) == ["add", "add", "divide", "divide", "put", "put"]
    np.testing.assert_allclose(x.grad.to_numpy(), np.full(N, 8.0))


def test_a_gradient_that_comes_later_leaves_recorded_reverses(squares: Any) -> None:
    _, x, loss = squares
    z = ti.field(ti.f64, shape=N)

    @ti.kernel
    def read():
        for i in x:
            loss[None] += x[i] * z[i]

    z.fill(5.0)
    x.fill(3.0)
    with ti.ad.Tape(loss):
        read()
        ti.root.lazy_grad()
        read()
    np.testing.assert_array_equal(x.grad.to_numpy(), np.full(N, 10.0))
    np.testing.assert_array_equal(z.grad.to_numpy(), np.full(N, 3.0))  # of the second alone
