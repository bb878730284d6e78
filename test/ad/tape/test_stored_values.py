"""Reverses that load what their launches stored: the same gradients as those that compute it
again, whatever writes to the fields in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad as ti
from mlirad.ad.recording.entries import RecordedLaunch

COUNT, TERMS = 12, 40
rng = np.random.default_rng(5)
W = rng.uniform(-0.2, 0.2, (COUNT, TERMS))
X = rng.uniform(-1.0, 1.0, TERMS)


class Layer:
    """`h = tanh(w x)`, of which the reverse needs `h`; the loss is the sum of `h³`."""

    def __init__(self, hidden: str = "field") -> None:
        self.w = ti.field(ti.f64, (COUNT, TERMS), needs_grad=True)
        self.x = ti.field(ti.f64, TERMS, needs_grad=True)
        self.loss = ti.field(ti.f64, (), needs_grad=True)
        self.h = PLACES[hidden]()
        self.w.from_numpy(W)
        self.x.from_numpy(X)

    @ti.kernel
    def forward(self):
        for i in range(COUNT):
            total = 0.0
            for j in range(TERMS):
                total += self.w[i, j] * self.x[j]
            self.h[i] = ti.tanh(total)

    @ti.kernel
    def add(self):
        for i in range(COUNT):
            self.loss[None] += self.h[i] ** 3

    @ti.kernel
    def spoil(self, i: ti.i32):
        self.h[i] = 7.0

    @ti.kernel
    def scale(self):
        for i in range(COUNT):
            self.h[i] *= 2.0

    def expected(self, factors: np.ndarray | float = 1.0) -> np.ndarray:
        """The gradient of w if the loss adds up the cubes of h times some factors."""
        h = np.tanh(W @ X)
        return (3.0 * factors**3 * h**2 * (1.0 - h**2))[:, None] * X[None, :]

    def gradient(self) -> np.ndarray:
        return self.w.grad.to_numpy()


def _in_blocks(*kinds: str) -> Any:
    h = ti.field(ti.f64)
    node = ti.root
    for kind, extent in zip(kinds, (4, 3)):
        node = getattr(node, kind)(ti.i, extent)
    node.place(h)
    ti.root.lazy_grad()
    return h


PLACES: dict[str, Callable[[], Any]] = {
    "field": lambda: ti.field(ti.f64, COUNT, needs_grad=True),
    "blocks": lambda: _in_blocks("dense", "dense"),
    "sparse": lambda: _in_blocks("pointer", "dense"),
    "cells": lambda: _in_blocks("dense", "bitmasked"),
}
LOADED = "field", "blocks"


def loaded(tape: Any) -> list[bool]:
    """Whether the reverse of each launch has loaded what it stored, of those that may."""
    return [
        entry.holds_stored
        for entry in tape.entries
        if isinstance(entry, RecordedLaunch) and entry.derivative.stored is not None
    ]


@pytest.fixture
def start() -> None:
    ti.init(default_fp=ti.f64)


@pytest.mark.usefixtures("start")
@pytest.mark.parametrize("place", PLACES)
def test_places(place: str) -> None:
    layer = Layer(place)
    with ti.ad.Tape(layer.loss) as tape:
        layer.forward()
        layer.add()
    assert layer.gradient() == pytest.approx(layer.expected(), rel=1e-12)
    assert loaded(tape) == [True] * (place in LOADED)


def _write_element(layer: Layer) -> None:
    layer.h[2] = 5.0


def _copy(layer: Layer) -> None:
    other = ti.field(ti.f64, COUNT)
    layer.h.copy_from(other)


@ti.ad.grad_replaced
def _custom(layer: Layer) -> None:
    layer.spoil(3)


@ti.ad.grad_for(_custom)
def _custom_gradient(layer: Layer) -> None:
    layer.h.grad[3] = 0.0


def _checkpointed(layer: Layer) -> None:
    for i in ti.ad.checkpointed(range(2), state=[layer.h], snapshots=1):
        layer.spoil(i)


@ti.ad.no_grad
def _without_derivative(layer: Layer) -> None:
    layer.spoil(1)


WRITES: dict[str, Callable[[Layer], object]] = {
    "kernel": lambda layer: layer.spoil(2),
    "element from Python": _write_element,
    "fill": lambda layer: layer.h.fill(3.0),
    "from NumPy": lambda layer: layer.h.from_numpy(np.ones(COUNT)),
    "copy": _copy,
    "function with a gradient": _custom,
    "checkpointed loop": _checkpointed,
    "function without a gradient": _without_derivative,
    "the same launch": lambda layer: layer.forward(),
    "update": lambda layer: layer.scale(),
}


@pytest.mark.usefixtures("start")
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("place", LOADED)
def test_writes_in_between(place: str, write: str) -> None:
    """What was stored is gone: the reverse computes it."""
    layer = Layer(place)
    with ti.ad.Tape(layer.loss) as tape:
        layer.forward()
        layer.add()
        WRITES[write](layer)
    assert layer.gradient() == pytest.approx(layer.expected(), rel=1e-12)
    assert not loaded(tape)[0]


@pytest.mark.usefixtures("start")
@pytest.mark.parametrize("write", WRITES)
def test_writes_before(write: str) -> None:
    layer = Layer()
    with ti.ad.Tape(layer.loss) as tape:
        WRITES[write](layer)
        layer.forward()
        layer.add()
    assert layer.gradient() == pytest.approx(layer.expected(), rel=1e-12)
    assert loaded(tape)[-1]


@pytest.mark.usefixtures("start")
def test_update_that_carries_the_derivative() -> None:
    layer = Layer()
    with ti.ad.Tape(layer.loss) as tape:
        layer.forward()
        layer.scale()
        layer.add()
    assert layer.gradient() == pytest.approx(layer.expected(2.0), rel=1e-12)
    assert loaded(tape) == [False]


@pytest.mark.usefixtures("start")
@pytest.mark.parametrize("options", [{}, {"anomaly": True}, {"memory": 200}], ids=str)
def test_modes(options: dict[str, Any]) -> None:
    layer = Layer()
    with ti.ad.Tape(layer.loss, **options) as tape:
        layer.forward()
        layer.add()
    assert layer.gradient() == pytest.approx(layer.expected(), rel=1e-12)
    assert loaded(tape) == ([] if "anomaly" in options else ["memory" not in options])


@pytest.mark.usefixtures("start")
def test_several_reverses_and_python_in_between() -> None:
    layer = Layer()
    with ti.ad.Tape() as tape:
        layer.forward()
        layer.add()
    for factor in (1.0, 2.0):
        tape.grad({layer.loss: factor})
        assert layer.gradient() == pytest.approx(factor * layer.expected(), rel=1e-12)
    layer.h.fill(0.0)
    with pytest.raises(ti.TaichiRuntimeError, match="after the tape was closed"):
        tape.grad({layer.loss: 1.0})


def _adjoint_of_start(start: np.ndarray, steps: int) -> np.ndarray:
    """The gradient of the sum of squares after steps `h = tanh(h + coupling h)`."""
    coupling = 0.01 + 0.001 * np.add.outer(np.arange(COUNT), np.arange(COUNT)) + np.eye(COUNT)
    states = [start]
    for _ in range(steps):
        states.append(np.tanh(coupling @ states[-1]))
    adjoint = 2.0 * states[-1]
    for state in states[:0:-1]:
        adjoint = coupling.T @ (adjoint * (1.0 - state**2))
    return adjoint


@pytest.mark.usefixtures("start")
def test_a_field_indexed_by_time() -> None:
    """Each launch stores a row of its own: later launches leave it alone."""
    steps = 5
    h = ti.field(ti.f64, (steps + 1, COUNT), needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)
    start = rng.uniform(-1.0, 1.0, COUNT)

    @ti.kernel
    def step(t: ti.i32):
        for i in range(COUNT):
            total = 0.0
            for j in range(COUNT):
                total += h[t, j] * (0.01 + 0.001 * (i + j))
            h[t + 1, i] = ti.tanh(h[t, i] + total)

    @ti.kernel
    def add():
        for i in range(COUNT):
            loss[None] += h[steps, i] ** 2

    for i in range(COUNT):
        h[0, i] = start[i]
    with ti.ad.Tape(loss) as tape:
        for t in range(steps):
            step(t)
        add()
    assert h.grad.to_numpy()[0] == pytest.approx(_adjoint_of_start(start, steps), rel=1e-12)
    assert loaded(tape) == [True] * steps


@pytest.mark.usefixtures("start")
def test_two_fields_in_turn() -> None:
    """Only the last two launches find what they stored."""
    steps = 5
    fields = [ti.field(ti.f64, COUNT, needs_grad=True) for _ in range(2)]
    x = ti.field(ti.f64, COUNT, needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)
    values = rng.uniform(-1.0, 1.0, COUNT)
    x.from_numpy(values)

    @ti.kernel
    def begin():
        for i in range(COUNT):
            fields[0][i] = x[i]

    @ti.kernel
    def step(now: ti.template(), then: ti.template()):
        for i in range(COUNT):
            total = 0.0
            for j in range(COUNT):
                total += now[j] * (0.01 + 0.001 * (i + j))
            then[i] = ti.tanh(now[i] + total)

    @ti.kernel
    def add(row: ti.template()):
        for i in range(COUNT):
            loss[None] += row[i] ** 2

    with ti.ad.Tape(loss) as tape:
        begin()
        for t in range(steps):
            step(fields[t % 2], fields[(t + 1) % 2])
        add(fields[steps % 2])
    assert x.grad.to_numpy() == pytest.approx(_adjoint_of_start(values, steps), rel=1e-12)
    assert loaded(tape) == [False] * (steps - 2) + [True] * 2


@pytest.mark.usefixtures("start")
def test_element_that_the_launch_overwrites() -> None:
    """A store that a later iteration, or statement, overwrites is no place to load from."""
    x = ti.field(ti.f64, COUNT, needs_grad=True)
    h = ti.field(ti.f64, COUNT, needs_grad=True)
    one = ti.field(ti.f64, (), needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)
    x.from_numpy(np.linspace(0.1, 0.9, COUNT))

    @ti.kernel
    def forward():
        ti.loop_config(serialize=True)
        for i in range(COUNT):
            total = 0.0
            for _ in range(TERMS):
                total += x[i] * 0.01
            value = ti.tanh(total)
            one[None] = value
            h[i] = value
            loss[None] += value * value
            h[i] = 1.0

    with ti.ad.Tape(loss) as tape:
        forward()
    slope = TERMS * 0.01
    h_ = np.tanh(slope * np.linspace(0.1, 0.9, COUNT))
    assert x.grad.to_numpy() == pytest.approx(2.0 * h_ * (1.0 - h_**2) * slope, rel=1e-12)
    assert loaded(tape) == []


@pytest.mark.usefixtures("start")
def test_second_derivatives_compute_the_values() -> None:
    layer = Layer()

    def program() -> None:
        layer.forward()
        layer.add()

    direction = rng.uniform(-1.0, 1.0, W.shape)
    product = ti.ad.hvp(program, layer.loss, layer.w, direction)
    step = 1e-5
    slopes = []
    for sign in (1.0, -1.0):
        layer.w.from_numpy(W + sign * step * direction)
        with ti.ad.Tape(layer.loss):
            program()
        slopes.append(layer.gradient())
    assert np.asarray(product) == pytest.approx((slopes[0] - slopes[1]) / (2 * step), rel=1e-6)
