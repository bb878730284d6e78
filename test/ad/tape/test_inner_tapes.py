"""Tapes inside a program that is differentiated, and what is refused of programs that use
gradients."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from gradients import check, scalar, variable

import mlirad as ti

N = 4


class Program:
    """An energy, and steps along its gradient."""

    def __init__(self) -> None:
        self.x = x = variable(N)
        self.w = w = variable(N, seed=5)
        self.total, self.loss = total, loss = scalar(), scalar()

        @ti.kernel
        def energy():
            for i in x:
                total[None] += ti.sin(x[i]) * x[(i + 1) % N] ** 2 * w[i]

        @ti.kernel
        def push():
            for i in x:
                x[i] -= 0.1 * x.grad[i]

        @ti.kernel
        def measure():
            for i in x:
                loss[None] += x[i] ** 2

        self.energy, self.push, self.measure = energy, push, measure

    def force(self) -> None:
        """The gradient of the energy."""
        self.x.grad.fill(0.0)
        self.total.grad[None] = 1.0
        self.energy.grad()

    def run(self) -> None:
        """A step, and the loss."""
        self.force()
        self.push()
        self.measure()


@pytest.fixture
def program() -> Iterator[Program]:
    ti.init(default_fp=ti.f64)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"field 'strain' .* has no gradient, but")
        yield Program()


def test_forces_by_a_tape(program: Program) -> None:
    def run() -> None:
        for _ in range(3):
            with ti.ad.Tape(program.total):
                program.energy()
            program.push()
        program.measure()

    check(run, [program.x, program.w], program.loss)


def test_several_launches_and_a_field_without_gradient(program: Program) -> None:
    x, w, total = program.x, program.w, program.total
    strain = ti.field(ti.f64, N)

    @ti.kernel
    def stretch():
        for i in x:
            strain[i] = x[i] ** 2 * w[i]

    @ti.kernel
    def add():
        for i in strain:
            total[None] += ti.sin(strain[i]) * strain[(i + 1) % N]

    def run() -> None:
        for _ in range(3):
            with ti.ad.Tape(total):
                w[1] = 0.5
                stretch()
                add()
                add()
            program.push()
        program.measure()

    check(run, [x, w], program.loss)


def test_no_grad_cuts(program: Program) -> None:
    @ti.ad.no_grad
    def by_tape() -> None:
        with ti.ad.Tape(program.total):
            program.energy()

    for force in (by_tape, ti.ad.no_grad(program.force)):
        with ti.ad.Tape(program.loss):
            force()
            program.push()
            program.measure()
        np.testing.assert_allclose(program.x.grad.to_numpy(), 2 * program.x.to_numpy())


def test_a_loss_that_nothing_reaches(program: Program) -> None:
    with (
        pytest.warns(UserWarning, match="no kernel launched in this tape writes to its loss"),
        ti.ad.Tape(program.loss),
    ):
        with ti.ad.Tape(program.total):
            program.push()
        program.measure()


# Refused.


def refused(program: Program, what: Callable[[], Any], message: str) -> None:
    """A tape refuses what is done in it, with the line, and another one works afterwards."""
    with pytest.raises(ti.TaichiRuntimeError, match=message) as error, ti.ad.Tape(program.loss):
        what()
    assert ".py:" in str(error.value)
    with ti.ad.Tape(program.loss):
        program.measure()
    np.testing.assert_allclose(program.x.grad.to_numpy(), 2 * program.x.to_numpy())


def test_an_inner_tape_keeps_nothing(program: Program) -> None:
    def overwrites() -> None:
        with ti.ad.Tape(program.total):
            program.energy()
            program.push()

    def writes() -> None:
        with ti.ad.Tape(program.total):
            program.energy()
            program.x[0] = 1.0

    for what in (overwrites, writes):
        refused(program, what, "needed by the gradient, is overwritten at .* keeps nothing")


def test_what_an_inner_tape_cannot_hold(program: Program) -> None:
    array = ti.ndarray(ti.f64, N, needs_grad=True)

    @ti.kernel
    def read(a: ti.types.ndarray()):
        for i in a:
            program.total[None] += a[i]

    @ti.ad.grad_replaced
    def own() -> None:
        program.energy()

    ti.ad.grad_for(own)(lambda: program.energy.grad())

    def third() -> None:
        with ti.ad.Tape(program.total):
            program.energy()

    for what in (
        lambda: read(array),
        own,
        lambda: program.x.copy_from(program.w),
        program.energy.grad,
        third,
    ):

        def inside(what: Any = what) -> None:
            with ti.ad.Tape(program.total):
                what()

        refused(program, inside, "not differentiated")


def test_options_of_an_inner_tape(program: Program) -> None:
    for options in ({"loss": None}, {"memory": 100}, {"clear_gradients": False}, {"anomaly": True}):

        def inside(options: dict[str, Any] = options) -> None:
            with ti.ad.Tape(**{"loss": program.total, **options}):
                program.energy()

        refused(program, inside, "supports no other option")

    def asks_again() -> None:
        with ti.ad.Tape(program.total) as tape:
            program.energy()
        tape.grad()

    refused(program, asks_again, "at its end")
    with ti.ad.Tape(program.total) as tape:
        program.energy()
    refused(program, tape.grad, r"grad\(\) of a tape is called inside")
    refused(program, lambda: ti.ad.check(program.total, program.x, program.energy), "no other")


def test_derivatives_of_the_third_order(program: Program) -> None:
    for derivative in (
        lambda: ti.ad.hvp(program.run, program.loss, program.x, np.ones(N)),
        lambda: ti.ad.hessian(program.run, program.loss, program.x),
    ):
        with pytest.raises(ti.TaichiRuntimeError, match=r"\.py:\d+.*third derivatives"):
            derivative()


def test_runs_that_are_repeated(program: Program) -> None:
    def checkpointed() -> None:
        state = [program.x, program.total]
        for _ in ti.ad.checkpointed(range(3), state=state, snapshots=2):
            program.force()
            program.push()

    refused(program, checkpointed, "gradient")

    def beside() -> None:
        program.force()
        program.push()
        for _ in ti.ad.checkpointed(range(3), state=[program.x], snapshots=2):
            program.measure()

    refused(program, beside, "checkpoint")
    for options, message in (
        ({"memory": 0.5}, "cannot recompute gradients"),
        ({"clear_gradients": False}, "two meanings"),
    ):
        with (
            pytest.raises(ti.TaichiRuntimeError, match=message),
            ti.ad.Tape(program.loss, **options),  # type: ignore[arg-type]
        ):
            program.run()


def test_arrays(program: Program) -> None:
    array = ti.ndarray(ti.f64, N, needs_grad=True)

    @ti.kernel
    def energy(a: ti.types.ndarray()):
        for i in a:
            program.total[None] += a[i] ** 2

    for mode in (ti.ad.Tape(program.loss), ti.ad.FwdMode(program.loss, program.total)):
        with pytest.raises(ti.TaichiRuntimeError, match="without array arguments"), mode:
            energy.grad(array)


def test_what_the_reverse_overwrites(program: Program) -> None:
    x, total = program.x, program.total

    @ti.kernel
    def energy():
        for i in x:
            x[i] = x[i] ** 2
            total[None] += x[i] ** 2

    with pytest.raises(ti.TaichiRuntimeError, match="is overwritten"), ti.ad.Tape(program.loss):
        energy.grad()


def test_gradients_of_functions_with_their_own(program: Program) -> None:
    f, seen = ti.field(ti.f64, N, needs_grad=True), []

    @ti.kernel
    def take():
        for i in f:
            f[i] = program.x.grad[i]

    @ti.kernel
    def push():
        for i in f:
            program.x[i] -= 0.1 * f[i]

    @ti.ad.grad_replaced
    def force() -> None:
        program.force()
        take()

    ti.ad.grad_for(force)(lambda: seen.append(f.grad.to_numpy()))
    with ti.ad.Tape(program.loss):
        force()
        push()
        program.measure()
    np.testing.assert_allclose(program.x.grad.to_numpy(), 2 * program.x.to_numpy())
    np.testing.assert_allclose(seen[0], -0.2 * program.x.to_numpy())

    def outside() -> None:
        force()
        program.push()

    message = "which has its own gradient, uses"
    with pytest.raises(ti.TaichiRuntimeError, match=message), ti.ad.Tape(program.loss):
        outside()


def test_what_entering_a_tape_sets_to_0(program: Program) -> None:
    program.force()
    refused(program, program.push, "reads 'x.grad' in a tape, which set it to 0")
    program.total.grad[None] = 1.0

    def seeds_are_gone() -> None:
        program.x.grad.fill(0.0)
        program.energy.grad()

    refused(program, seeds_are_gone, "grad' in a tape, which set it to 0")
    program.force()
    with ti.ad.Tape(program.loss):
        program.run()
    ti.ad.clear_all_gradients()
    with ti.ad.Tape(program.loss):
        program.push()  # which reads 0, as it would have outside
        program.measure()


def test_what_python_reads(program: Program) -> None:
    with (
        pytest.warns(UserWarning, match=r"'x\.grad' is read in Python inside a tape"),
        ti.ad.Tape(program.loss),
    ):
        program.force()
        program.x[0] = float(program.x.grad[0])
        program.measure()
