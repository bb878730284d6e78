"""Zeros that reverses leave where they took derivatives out of a field, beside the same programs
that write all of them at once (`defer-zeros`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import mlirad as ti
from mlirad.passes.memory import defer_zeros
from mlirad.runtime.memory.deferred_writes import DeferredWrites, LaterWrites

N, STEPS = 200, 4  # squares of N numbers are large fields


class Program(NamedTuple):
    """A program: its start, what runs, the loss, and fields whose gradients are looked at."""

    start: Any
    run: Callable[[], None]
    loss: Any
    looked_at: tuple[Any, ...]


def in_place(margin: int, parts: int) -> Program:
    """A state that every step overwrites, by a flow through all of it but a margin."""
    new = ti.field if parts == 1 else lambda *args, **kw: ti.Vector.field(parts, *args, **kw)
    start, state, flow = (new(ti.f64, (N, N), needs_grad=True) for _ in range(3))
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def begin():
        for i, j in start:
            state[i, j] = start[i, j]

    @ti.kernel
    def spread():
        for i, j in ti.ndrange((margin, N - margin), (margin, N - margin)):
            here = state[i, j]
            right = state[i, (j + 1) % N]
            flow[i, j] = (right - here) * (1.0 + 0.1 * here * here)

    @ti.kernel
    def step():
        for i, j in ti.ndrange((margin, N - margin), (margin, N - margin)):
            state[i, j] += 0.1 * flow[i, j]

    @ti.kernel
    def measure():
        for i, j in state:
            for k in ti.static(range(parts)):
                value = state[i, j] if ti.static(parts == 1) else state[i, j][k]
                loss[None] += value * value

    def run() -> None:
        begin()
        for _ in range(STEPS):
            spread()
            step()
        measure()

    return Program(start, run, loss, (flow, state))


def over_time(margin: int, parts: int) -> Program:
    """States that are kept: each step writes a row of all but a margin."""
    new = ti.field if parts == 1 else lambda *args, **kw: ti.Vector.field(parts, *args, **kw)
    states = new(ti.f64, (STEPS + 1, N, N), needs_grad=True)
    start = new(ti.f64, (N, N), needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def begin():
        for i, j in start:
            states[0, i, j] = start[i, j]

    @ti.kernel
    def step(t: ti.i32):
        for i, j in ti.ndrange((margin, N - margin), (margin, N - margin)):
            here, below = states[t, i, j], states[t, (i + 1) % N, j]
            states[t + 1, i, j] = here + 0.1 * here * (below - here)

    @ti.kernel
    def measure():
        for i, j in start:
            for k in ti.static(range(parts)):
                last = states[STEPS, i, j]
                value = last if ti.static(parts == 1) else last[k]
                loss[None] += value * value

    def run() -> None:
        begin()
        for t in range(STEPS):
            step(t)
        measure()

    return Program(start, run, loss, (states,))


def taped(program: Program) -> list[np.ndarray]:
    """Gradients of a run, and what it left of others, which are cleared at its beginning."""
    with ti.ad.Tape(program.loss):
        program.run()
    return [f.grad.to_numpy() for f in (program.start, *program.looked_at)]


def summed(program: Program) -> list[np.ndarray]:
    """Gradients of a run that are added to those of one before."""
    taped(program)
    with ti.ad.Tape(program.loss, clear_gradients=False):
        program.run()
    return [f.grad.to_numpy() for f in (program.start, *program.looked_at)]


def looked_at_between(program: Program) -> list[np.ndarray]:
    """Gradients of a run in which Python looks at an element, and changes one, in between."""
    seen = []

    def look() -> None:
        grad = program.looked_at[0].grad
        index = tuple(0 if k == 0 and len(grad.shape) == 3 else 7 for k in range(len(grad.shape)))
        seen.append(np.array(grad[index]))
        grad[index] = grad[index] + 1.0

    with ti.ad.Tape(program.loss):
        program.run()
    look()
    taken = [f.grad.to_numpy() for f in (program.start, *program.looked_at)]
    return [*seen, *taken]


def lent(program: Program) -> list[np.ndarray]:
    """Gradients of a run, as NumPy sees them in the memory of the fields, at any time."""
    views = [np.asarray(field.grad) for field in program.looked_at]
    return [*taped(program), *(view.copy() for view in views)]


def product(program: Program) -> list[np.ndarray]:
    """A second derivative along a direction."""
    shape = program.start.to_numpy().shape
    v = np.random.default_rng(5).standard_normal(shape)
    return [
        np.asarray(ti.ad.hvp(program.run, loss=program.loss, wrt=program.start, v=v))
        for _ in range(2)
    ]


USES = {
    "taped": taped,
    "summed": summed,
    "looked at": looked_at_between,
    "lent": lent,
    "product": product,
}


def used(make: Callable[[int, int], Program], margin: int, parts: int, use: str) -> list[bytes]:
    """What a use of a program returns, three times."""
    program = make(margin, parts)
    values = np.random.default_rng(3).uniform(0.5, 1, program.start.to_numpy().shape)
    program.start.from_numpy(values)
    return [array.tobytes() for _ in range(3) for array in USES[use](program)]


@pytest.mark.cpu_code("the host defers them")
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("margin", [0, 1])
@pytest.mark.parametrize("make", [in_place, over_time])
def test_gradients_are_those_of_programs_that_write_all_zeros(
    make: Callable[[int, int], Program],
    margin: int,
    parts: int,
    use: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    left = list[object]()
    leave = LaterWrites.defer_zeros

    def note(self: LaterWrites, *arguments: Any) -> None:
        left.append(arguments)
        leave(self, *arguments)

    monkeypatch.setattr(DeferredWrites, "defer_zeros", note)
    found = used(make, margin, parts, use)
    assert left
    ti.init(default_fp=ti.f64)
    monkeypatch.setattr(defer_zeros, "LEAST", 1 << 62)
    left.clear()
    assert used(make, margin, parts, use) == found
    assert not left


def test_a_kernel_may_do_nothing_but_leave_zeros() -> None:
    x = ti.field(ti.f64, (N, N), needs_grad=True)

    @ti.kernel
    def clear():
        for i, j in ti.ndrange((1, N), N - 1):
            x[i, j] = 2.0 * x[i, j] if i > N else 1.0
        for i, j in ti.ndrange((1, N), N - 1):
            x.grad[i, j] = 0.0

    x.grad.fill(3.0)
    clear()
    expected = np.full((N, N), 3.0)
    expected[1:, :-1] = 0.0
    np.testing.assert_array_equal(x.grad.to_numpy(), expected)
