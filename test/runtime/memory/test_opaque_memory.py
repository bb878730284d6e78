"""Tapes, checkpointing and forward mode on a machine whose memory nobody can look into.

Tests of other files run here again, on that machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from ad.checkpoint.test_checkpointing import TestAround  # noqa: F401
from ad.forward.test_forward_mode import *  # noqa: F403
from ad.forward.test_second_order import (  # noqa: F401
    test_copies_and_fields_without_gradient,
    test_serial_sweeps_in_place,
)
from ad.tape.test_tape_arrays import TestChains, TestClearing  # noqa: F401
from ad.tape.test_versions import (  # noqa: F401
    test_a_copy_after_the_tape_was_closed,
    test_a_gradient_that_comes_between_two_launches,
    test_a_write_between_a_launch_and_its_reverse,
)
from opaque_machine import OpaqueExecutor, counted, opaque_machine  # noqa: F401

import mlirad as ti
from mlirad.runtime.program import program as current_program

pytestmark = pytest.mark.cpu_code("a machine of the test's own stands for the CPU")

N, STEPS = 8, 6
HOST = {"get", "put", "read", "write", "differing", "equals"}  # what moves numbers to Python


@pytest.fixture(autouse=True)
def program(opaque_machine: None) -> Iterator[Any]:  # noqa: F811
    """A program in double precision, on one thread; compiled fast."""
    ti.init(default_fp=ti.f64, cpu_max_num_threads=1, random_seed=3, opt_level=0)
    yield ti.f64
    ti.reset()


f64 = real = one_thread = program  # as the tests of those files call it


class Squares:
    """Numbers that are squared in place, step by step."""

    def __init__(self) -> None:
        x = self.x = ti.field(ti.f64, shape=N, needs_grad=True)
        loss = self.loss = ti.field(ti.f64, shape=(), needs_grad=True)

        @ti.kernel
        def step():
            for i in x:
                x[i] = 0.5 * x[i] * x[i]

        @ti.kernel
        def add():
            for i in x:
                loss[None] += x[i]

        self.step, self.add = step, add
        x.from_numpy(np.linspace(1.0, 2.0, N))

    def check(self) -> None:
        """The gradient of the last value in the first."""
        x = np.linspace(1.0, 2.0, N)
        expected = np.ones(N)
        for _ in range(STEPS):
            x, expected = 0.5 * x * x, expected * x
        np.testing.assert_allclose(self.x.grad.to_numpy(), expected, rtol=1e-12)


def test_this_is_another_machine() -> None:
    model = Squares()
    assert isinstance(current_program().executor, OpaqueExecutor)
    elements = model.x.find_memory().elements
    assert elements.address >= 1 << 60
    assert not [name for name in dir(elements) if isinstance(getattr(elements, name), np.ndarray)]


def test_what_a_tape_keeps_stays_on_the_machine() -> None:
    model = Squares()
    with ti.ad.Tape(model.loss):
        counted()
        for _ in range(STEPS):
            model.step()
        recorded = counted()
        model.add()
    reversed_ = counted()
    assert recorded == {"keep": STEPS, "launch": STEPS}
    assert not HOST & set(reversed_)
    assert reversed_["launch"] == 1 + 1 + STEPS
    model.check()


def test_states_of_a_loop_stay_on_the_machine() -> None:
    model = Squares()
    with ti.ad.Tape(model.loss):
        counted()
        for _ in ti.ad.checkpointed(range(STEPS), state=[model.x], snapshots=2):
            model.step()
        model.add()
    found = counted()
    assert not HOST & set(found)
    assert found["renew"] and found["restore"]
    model.check()


def test_forward_mode_writes_its_seed_alone() -> None:
    model = Squares()
    with ti.ad.FwdMode(model.loss, model.x, seed=[1.0] * N):
        counted()
        model.step()
        model.add()
        assert counted().keys() == {"launch"}
