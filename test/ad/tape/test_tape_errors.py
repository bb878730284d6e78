"""Requests that a tape refuses, and blocks that end by an exception: fields and gradients stay as
they were."""

from __future__ import annotations

import gc
import tracemalloc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from gradients import names_both, scalar, variable

import mlirad as ti

pytestmark = [
    pytest.mark.usefixtures("f64"),
    pytest.mark.filterwarnings("ignore:.*is read in Python inside a tape"),
]


@pytest.fixture
def program(f64: int) -> tuple[Any, Any, Callable[[], None]]:
    """Two fields whose values and gradients are numbers, and a kernel that overwrites what its
    gradient needs."""
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
        for refused in (ti.ad.Tape(), ti.ad.Tape(other, anomaly=True)):
            with (
                pytest.raises(RuntimeError, match="inside a program that is differentiated"),
                refused,
            ):
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
    with (
        pytest.raises(ti.TaichiRuntimeError, match="overwritten"),
        ti.ad.Tape(loss, rules="refuse"),
    ):
        step()
    np.testing.assert_array_equal(x.to_numpy(), before)
    assert loss[None] == 0.0
    check_works(x, loss, step)


# What the block raises, and what is kept.


class Interrupt(BaseException):
    """What is no Exception, as KeyboardInterrupt."""


@pytest.mark.parametrize("error", [KeyError, Interrupt, KeyboardInterrupt, SystemExit])
def test_any_exception_passes_through(program: Any, error: type[BaseException]) -> None:
    x, loss, step = program
    tape = ti.ad.Tape(loss)
    with pytest.raises(error), tape:
        step()
        step()
        left = x.to_numpy()
        raise error
    np.testing.assert_array_equal(x.to_numpy(), left)
    assert not x.grad.to_numpy().any()
    assert tape.explain().bytes == 0
    with pytest.raises(RuntimeError, match="an exception ended the block"):
        tape.grad()
    check_works(x, loss, step)


def copies(tape: Any) -> list[weakref.ref[Any]]:
    """What a tape keeps."""
    return [weakref.ref(version.copy) for entry in tape.entries for version in entry.saved]


def test_an_exception_frees_what_was_kept(program: Any) -> None:
    _, loss, step = program
    tape = ti.ad.Tape(loss)
    with pytest.raises(KeyError), tape:
        for _ in range(3):
            step()
        kept = copies(tape)
        assert len(kept) == 3
        assert all(reference() is not None for reference in kept)
        raise KeyError
    assert not any(reference() is not None for reference in kept)


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Without the collector of cycles: what is unreachable and not freed is a cycle."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
def test_a_tape_is_freed_with_its_last_name(program: Any) -> None:
    _, loss, step = program
    with ti.ad.Tape(loss) as tape:
        step()
        step()
    kept, whole = copies(tape), weakref.ref(tape)
    assert kept
    tape.grad()
    kept += copies(tape)
    del tape
    assert whole() is None
    assert not any(reference() is not None for reference in kept)


@pytest.mark.cpu_code("simt keeps 16 MB of freed memory, full of garbage, for late readers to meet")
@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("ends", ["well", "badly", "in reverse"])
def test_memory_of_many_tapes(ends: str) -> None:
    """Each keeps eight megabytes; of twenty no two are there at once."""
    size = 1 << 19
    x, loss = ti.field(ti.f64, shape=size, needs_grad=True), scalar()
    x.fill(0.5)

    @ti.kernel
    def step():
        for i in x:
            x[i] = ti.sin(x[i])

    @ti.ad.grad_replaced
    def last() -> None:
        step()

    @ti.ad.grad_for(last)
    def fail() -> None:
        if ends == "in reverse":
            raise KeyError

    def once() -> None:
        with ti.ad.Tape(loss):
            step()
            step()
            last()
            if ends == "badly":
                raise KeyError

    def repeat() -> None:
        try:
            once()
        except KeyError:
            assert ends != "well"

    repeat()
    tracemalloc.start()
    for _ in range(20):
        repeat()
    left, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert left < 8 * size
    assert peak < 8 * 8 * size


def test_a_reverse_that_fails_leaves_the_fields(program: Any) -> None:
    x, loss, step = program
    fails = True

    @ti.ad.grad_replaced
    def call() -> None:
        step()

    @ti.ad.grad_for(call)
    def backward() -> None:
        if fails:
            raise Interrupt

    def run() -> None:
        call()
        step()
        step()

    before = x.to_numpy()
    run()
    left = x.to_numpy()
    x.from_numpy(before)
    with pytest.raises(Interrupt), ti.ad.Tape(loss):
        run()
    np.testing.assert_array_equal(x.to_numpy(), left)
    check_works(x, loss, step)
    fails = False
    with ti.ad.Tape(loss):
        run()


@pytest.mark.parametrize("where", ["step", "no_grad", "replaced"])
def test_an_assertion_in_a_kernel(where: str) -> None:
    ti.init(default_fp=ti.f64, debug=True)
    x, loss = variable(4), scalar()

    @ti.kernel
    def step():
        for i in x:
            assert x[i] < 10.0
            loss[None] += x[i] * x[i]
            x[i] = ti.sin(x[i])

    @ti.ad.no_grad
    def quietly() -> None:
        step()

    @ti.ad.grad_replaced
    def replaced() -> None:
        step()

    @ti.ad.grad_for(replaced)
    def backward() -> None:
        raise AssertionError("nothing is reversed")

    x[2] = 11.0
    with pytest.raises(ti.TaichiAssertionError) as caught, ti.ad.Tape(loss):
        {"step": step, "no_grad": quietly, "replaced": replaced}[where]()
    names_both(caught.value, "assert x[i] < 10.0")
    assert not x.grad.to_numpy().any()
    check_works(x, loss, step)


def test_an_anomaly_and_then_another_tape(program: Any) -> None:
    x, loss, step = program

    @ti.kernel
    def roots():
        for i in x:
            loss[None] += ti.sqrt(x[i])
            x[i] = 2.0

    x[3] = 0.0
    with (
        pytest.raises(ti.TaichiAssertionError, match="becomes inf"),
        ti.ad.Tape(loss, anomaly=True),
    ):
        roots()
    assert (x.to_numpy() == 2.0).all()
    x[3] = -1.0
    with (
        pytest.raises(ti.TaichiAssertionError, match=r"becomes -?nan"),
        ti.ad.Tape(loss, anomaly=True),
    ):
        roots()
    check_works(x, loss, step)


def test_a_kernel_that_does_not_compile(program: Any) -> None:
    x, loss, step = program

    @ti.kernel
    def wrong():
        for i in x:
            loss[None] += nothing_of_that_name[i]  # noqa: F821

    tape = ti.ad.Tape(loss)
    with pytest.raises(ti.TaichiCompilationError, match="nothing_of_that_name"), tape:
        step()
        wrong()
    assert tape.explain().bytes == 0
    check_works(x, loss, step)


@pytest.mark.parametrize("kind", ["vector", "no gradient", "a number", "shape"])
def test_losses_that_are_none(program: Any, kind: str) -> None:
    x, loss, step = program
    wrong = {
        "vector": ti.Vector.field(2, ti.f64, shape=(), needs_grad=True),
        "no gradient": ti.field(ti.f64, shape=()),
        "a number": 3.0,
        "shape": variable(2),
    }[kind]
    before = contents(x, loss)
    with pytest.raises((RuntimeError, TypeError)), ti.ad.Tape(wrong):
        step()
    for now, then in zip(contents(x, loss), before):
        np.testing.assert_array_equal(now, then)
    check_works(x, loss, step)


def test_a_gradient_before_and_within_the_block(program: Any) -> None:
    x, loss, step = program
    tape = ti.ad.Tape(loss)
    before = contents(x, loss)
    with pytest.raises(AssertionError, match="must be entered"):
        tape.grad()
    for now, then in zip(contents(x, loss), before):
        np.testing.assert_array_equal(now, then)
    with tape:
        step()
        with pytest.raises(RuntimeError):
            tape.grad()
    expected = x.grad.to_numpy()
    tape.grad()
    np.testing.assert_array_equal(x.grad.to_numpy(), expected)
    check_works(x, loss, step)
