"""Programs whose memory is a device's: what moves, what stays there, and what is given back.

Tests of other files run here again: launches are the CPU's, everything else is the device's.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from ad.checkpoint.test_checkpointing import TestAround  # noqa: F401
from ad.forward.test_second_order import test_copies_and_fields_without_gradient  # noqa: F401
from ad.tape.test_tape_arrays import TestChains  # noqa: F401
from ad.tape.test_versions import (  # noqa: F401
    test_a_copy_after_the_tape_was_closed,
    test_a_gradient_that_comes_between_two_launches,
    test_a_write_between_a_launch_and_its_reverse,
)
from device_machine import DeviceCpu

import mlirad as ti
from mlirad.errors import TaichiMemoryError
from mlirad.runtime.executors import EXECUTORS
from mlirad.runtime.program import program as current_program
from mlirad.runtime.simt.simt_driver import SimtDriver

N = 1 << 15


@pytest.fixture(autouse=True)
def program(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A program in double precision, compiled fast."""
    monkeypatch.setitem(EXECUTORS, "x64", DeviceCpu)
    ti.init(arch=ti.cpu, default_fp=ti.f64, cpu_max_num_threads=1, random_seed=3, opt_level=0)
    yield ti.f64
    ti.reset()


f64 = real = one_thread = program  # as the tests of those files call it


def driver() -> SimtDriver:
    """That of the program."""
    machine: Any = current_program().executor
    return machine.driver


def moved(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """The bytes that go to the device and come from it, from now on."""
    found: Counter[str] = Counter()
    machine, read, write = driver(), driver().read, driver().write

    def counted_read(host: int, address: int, size: int) -> None:
        found["read"] += size
        read(host, address, size)

    def counted_write(address: int, host: int, size: int) -> None:
        found["write"] += size
        write(address, host, size)

    monkeypatch.setattr(machine, "read", counted_read)
    monkeypatch.setattr(machine, "write", counted_write)
    return found


class Squares:
    """Numbers that are halved and squared in place, step by step, in cells with others."""

    def __init__(self) -> None:
        x = self.x = ti.field(ti.f64)
        other = self.other = ti.field(ti.f32)
        ti.root.dense(ti.i, N).place(x, other)
        ti.root.lazy_grad()
        loss = self.loss = ti.field(ti.f64, (), needs_grad=True)

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
        other.fill(7)

    def check(self) -> None:
        """The gradient of three steps, and the neighbours."""
        x, expected = np.linspace(1.0, 2.0, N), np.ones(N)
        for _ in range(3):
            x, expected = 0.5 * x * x, expected * x
        np.testing.assert_allclose(self.x.grad.to_numpy(), expected, rtol=1e-12)
        np.testing.assert_allclose(self.x.to_numpy(), x, rtol=1e-12)
        assert (self.other.to_numpy() == 7).all()


def test_what_a_tape_keeps_stays_on_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Squares()
    found = moved(monkeypatch)
    with ti.ad.Tape(model.loss):
        for _ in range(3):
            model.step()
        model.add()
    assert sum(found.values()) < 1000  # the loss, and answers of yes or no
    model.check()


def test_states_of_a_loop_stay_on_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Squares()
    found = moved(monkeypatch)
    with ti.ad.Tape(model.loss):
        for _ in ti.ad.checkpointed(range(3), state=[model.x], snapshots=2):
            model.step()
        model.add()
    assert sum(found.values()) < 1000
    model.check()


def test_copies_of_fields_and_arrays_stay_on_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = (ti.field(ti.f64, N, needs_grad=True) for _ in range(2))
    a, b = (ti.ndarray(ti.f64, N) for _ in range(2))
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def weigh():
        for i in y:
            loss[None] += i * y[i]

    x.fill(3.0)
    a.fill(4.0)
    found = moved(monkeypatch)
    b.copy_from(a)
    with ti.ad.Tape(loss):
        y.copy_from(x)
        weigh()
    assert sum(found.values()) < 1000
    np.testing.assert_array_equal(x.grad.to_numpy(), np.arange(N))
    np.testing.assert_array_equal(b.to_numpy(), np.full(N, 4.0))


def test_an_array_of_the_host_goes_to_a_launch_and_comes_back_where_it_was_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @ti.kernel
    def scale(a: ti.types.ndarray(), b: ti.types.ndarray()):
        for i in a:
            b[i] = 2.0 * a[i]

    ti.init(arch=ti.simt, default_fp=ti.f64, opt_level=0)
    a, b = np.arange(float(N)), np.zeros(N)
    found = moved(monkeypatch)
    scale(a, b)
    assert found == {"write": 16 * N, "read": 8 * N}
    np.testing.assert_array_equal(b, 2.0 * a)
    apart = np.zeros((N, 2))[:, 1]
    scale(b, apart)
    np.testing.assert_array_equal(apart, 4.0 * a)


def test_everything_is_given_back() -> None:
    machine = driver()
    fields = [ti.field(ti.f64, 10) for _ in range(1000)]
    fields[0].fill(1.0)  # which allocates them
    assert machine.allocations >= 1000
    model = Squares()
    with ti.ad.Tape(model.loss) as tape:
        model.step()
        model.step()
        model.add()
    assert tape is not None
    del fields, model, tape
    ti.reset()
    gc.collect()
    assert machine.allocations == 0


def test_a_thousand_tapes_take_no_more_than_one() -> None:
    x, loss = ti.field(ti.f64, 100, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def square():
        for i in x:
            x[i] = x[i] * x[i]

    @ti.kernel
    def add():
        for i in x:
            loss[None] += x[i]

    counts = []
    for _ in range(1000):
        x.fill(1.0)
        with ti.ad.Tape(loss):
            square()
            add()
        counts.append(driver().allocations)
    gc.collect()
    assert driver().allocations <= counts[1] + 2
    assert max(counts) < counts[1] + 100
    assert (x.grad.to_numpy() == 2.0).all()


def test_more_than_the_device_has_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXECUTORS, "x64", lambda: DeviceCpu(total=1 << 20))
    ti.init(arch=ti.cpu, default_fp=ti.f64)
    ti.field(ti.f64, 1 << 16)
    with pytest.raises(TaichiMemoryError, match=r"field 'big'.*the device's memory of 1\.0 MiB"):
        ti.field(ti.f64, 1 << 17, name="big")
