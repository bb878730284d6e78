"""Fields and arrays that the machine has no memory for are refused where they are declared, by
name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad as ti
from mlirad.runtime import capacity

pytestmark = pytest.mark.cpu_code("how much memory the host has")
HUGE = 10**11
MIB = 1 << 20


@pytest.fixture(autouse=True)
def started() -> None:
    """A program of its own."""
    ti.init(default_fp=ti.f64)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of 8 MiB."""
    monkeypatch.setattr(capacity, "machine_memory", lambda: 8 * MIB)


def by_hand() -> None:
    """A field placed in blocks."""
    w = ti.field(ti.f32)
    ti.root.dense(ti.i, HUGE // 1000).dense(ti.i, 1000).place(w)


def of_vectors() -> None:
    """A field of vectors."""
    w = ti.Vector.field(3, ti.f64, shape=(HUGE // 100, 100))
    assert w is None


def with_gradient() -> None:
    """A field with a gradient."""
    w = ti.field(ti.f64, shape=HUGE, needs_grad=True)
    assert w is None


def plain() -> None:
    """A field."""
    w = ti.field(ti.f32, shape=HUGE)
    assert w is None


@pytest.mark.parametrize(
    ("declare", "words"),
    [
        (plain, ["field 'w' of shape (100000000000,) of f32", "400000000000 bytes (372.5 GiB)"]),
        (by_hand, ["field 'w' of shape (100000000000,) of f32", "400000000000 bytes"]),
        (of_vectors, ["field 'w' of shape (1000000000, 100) of f64[3]", "2400000000000 bytes"]),
        (
            with_gradient,
            ["field 'w' and 'w.grad' of shape (100000000000,) of f64", "1600000000000 bytes"],
        ),
        (
            lambda: ti.ndarray(ti.i32, (HUGE // 1000, 1000)),
            ["an ndarray of shape (100000000, 1000) of i32", "400000000000 bytes"],
        ),
        (
            lambda: ti.Matrix.ndarray(2, 2, ti.f32, 2 * MIB * 1000),
            ["an ndarray of shape (2097152000,) of f32[2, 2]"],
        ),
    ],
)
def test_what_never_fits_is_refused_where_it_is_declared(
    declare: Callable[[], Any], words: list[str]
) -> None:
    """With name, shape, bytes, and what the machine has."""
    with pytest.raises(ti.TaichiMemoryError) as raised:
        declare()
    assert isinstance(raised.value, MemoryError)
    for word in [*words, f"{capacity.machine_memory() / 2**30:.1f} GiB", "are available"]:
        assert word in str(raised.value)


def test_the_program_goes_on() -> None:
    """A refused field takes no memory, and leaves its block empty."""
    with pytest.raises(ti.TaichiMemoryError):
        by_hand()
    x = ti.field(ti.f64, 4)
    x.fill(2.0)

    @ti.kernel
    def total() -> ti.f64:
        s = 0.0
        for i in x:
            s += x[i]
        return s

    assert total() == 8.0


def test_what_fits_may_be_reserved() -> None:
    """Memory that is never touched costs nothing, so half of the machine is allowed."""
    count = capacity.machine_memory() // 2 // 8
    x = ti.field(ti.f64, count)
    x[count - 1] = 1.0
    assert x[count - 1] + x[0] == 1.0


@pytest.mark.usefixtures("small")
def test_fields_are_added_up() -> None:
    """The field that no longer fits is named; one that is destroyed makes room."""
    builder = ti.FieldsBuilder()
    x = ti.field(ti.f32)
    builder.dense(ti.i, MIB).place(x)
    trees = builder.finalize()
    y = ti.field(ti.f32, MIB // 2)
    with pytest.raises(
        ti.TaichiMemoryError,
        match=r"field 'late' of shape .* in addition to 6.0 MiB",
    ):
        ti.field(ti.f32, MIB, name="late")
    trees.destroy()
    ti.field(ti.f32, MIB, name="late").fill(1.0)
    assert y[0] == 0.0


@pytest.mark.usefixtures("small")
def test_derivatives_count() -> None:
    """Those that are asked for later, too."""
    x = ti.field(ti.f32, MIB, name="x")
    with pytest.raises(ti.TaichiMemoryError, match=r"field 'z' and 'z\.grad'"):
        ti.field(ti.f32, MIB, name="z", needs_grad=True)
    with (
        pytest.raises(ti.TaichiMemoryError, match=r"field 'x\.dual1'"),
        ti.ad.FwdMode(x, x, seed=np.ones((2, MIB))),
    ):
        pass
    with pytest.raises(ti.TaichiMemoryError, match=r"field 'x\.grad'"):
        ti.root.lazy_grad()
    assert x[3] == 0.0


@pytest.mark.usefixtures("small")
def test_hidden_gradients_count() -> None:
    """A tape that gives one names the field."""
    x = ti.field(ti.f32, 4, needs_grad=True)
    large = ti.field(ti.f32, 3 * MIB // 2, name="large")
    loss = ti.field(ti.f32, (), needs_grad=True)

    @ti.kernel
    def spread():  # type: ignore[no-untyped-def]
        for i in large:
            large[i] = x[i % 4] * 2.0

    with pytest.raises(ti.TaichiMemoryError, match=r"field 'large\.grad'"), ti.ad.Tape(loss):
        spread()
    assert large[0] == 0.0


@pytest.mark.usefixtures("small")
def test_ndarrays_give_back() -> None:
    """What is gone counts no more."""
    for _ in range(20):
        ti.ndarray(ti.f64, MIB // 2, needs_grad=False).fill(1.0)
    kept = ti.ndarray(ti.f64, MIB // 2)
    with pytest.raises(ti.TaichiMemoryError, match="an ndarray of shape"):
        ti.ndarray(ti.f64, MIB // 2, needs_grad=True)
    assert kept[0] == 0.0


@pytest.mark.usefixtures("small")
def test_what_tapes_keep_counts() -> None:
    """Many steps in place: the tape names the field, and the cure; the next one has its memory
    again."""
    x = ti.field(ti.f64, MIB // 64, needs_grad=True, name="x")
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def square():  # type: ignore[no-untyped-def]
        for i in x:
            x[i] = x[i] * x[i]

    @ti.kernel
    def total():  # type: ignore[no-untyped-def]
        for i in x:
            loss[None] += x[i]

    def run(steps: int) -> None:
        x.fill(1.0)
        with ti.ad.Tape(loss):
            for _ in range(steps):
                square()
            total()

    for _ in range(4):
        run(20)
    with pytest.raises(
        ti.TaichiMemoryError, match=r"what a tape keeps of 'x'.*checkpointed keeps less"
    ):
        run(200)
    run(3)
    assert x.grad[5] == 8.0


@pytest.mark.usefixtures("small")
def test_snapshots_count() -> None:
    """A loop that keeps more states than fit is refused by name."""
    x = ti.field(ti.f64, MIB // 16, needs_grad=True, name="x")
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def square():  # type: ignore[no-untyped-def]
        for i in x:
            x[i] = x[i] * x[i]

    with (
        pytest.raises(ti.TaichiMemoryError, match="a snapshot of the state of a checkpointed loop"),
        ti.ad.Tape(loss),
    ):
        for _ in ti.ad.checkpointed(range(100), state=[x], snapshots=50):
            square()
