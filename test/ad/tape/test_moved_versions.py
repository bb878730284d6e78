"""Large fields lie where a tape keeps them, from one version to the next, instead of copies going
back to memory: gradients, and what memory holds afterwards, are the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad as ti
from mlirad.runtime.memory.host import host_memory as host
from mlirad.runtime.memory.host.host_elements import HostElements, HostKept

N, STEPS = 64, 5
Values = np.ndarray[Any, Any]


@pytest.fixture(autouse=True, params=[1, 2], ids=["one_thread", "two_threads"])
def program(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "LEAST_MOVED", 1)
    ti.init(default_fp=ti.f64, cpu_max_num_threads=request.param)


class World:
    """`h` moves in place by `flow`, all but its ends."""

    def __init__(self, shape: int | tuple[int, ...] = N) -> None:
        self.x, self.h, self.flow = (ti.field(ti.f64, shape, needs_grad=True) for _ in range(3))
        self.loss = ti.field(ti.f64, (), needs_grad=True)
        self.start = np.random.default_rng(3).uniform(0.5, 1, shape)
        self.x.from_numpy(self.start)
        x, h, flow, loss = self.x, self.h, self.flow, self.loss

        @ti.kernel
        def begin():
            for i in x:
                h[i] = x[i]

        @ti.kernel
        def spread():
            for i in range(1, N - 1):
                flow[i] = (h[i + 1] + h[i - 1] - 2 * h[i]) * h[i]

        @ti.kernel
        def step():
            for i in range(1, N - 1):
                h[i] += 0.1 * flow[i]

        @ti.kernel
        def bend_some():
            for i in range(10, 20):
                h[i] = h[i] * h[i]

        @ti.kernel
        def bend_in_place():
            ti.loop_config(serialize=True)
            for i in range(1, N):
                h[i] = 0.5 * h[i] + 0.25 * h[i - 1] * h[i]

        @ti.kernel
        def measure():
            for i in h:
                loss[None] += h[i] ** 3

        self.begin, self.spread, self.step, self.measure = begin, spread, step, measure
        self.bend_some, self.bend_in_place = bend_some, bend_in_place

    def run(self, between: Callable[[], Any] = int) -> None:
        self.begin()
        for _ in range(STEPS):
            self.spread()
            self.step()
            between()
        self.measure()

    def seen(self) -> list[Values]:
        return [field.to_numpy() for field in (self.x.grad, self.x, self.h, self.flow)]


def fill(world: World) -> None:
    world.h.fill(0.75)


def write(world: World) -> None:
    world.h[7] = 0.75


def copy(world: World) -> None:
    world.h.copy_from(world.x)


def nothing(world: World) -> None:
    pass


PROGRAMS: dict[str, Callable[[World], Any]] = {
    "nothing": nothing,
    "a part": lambda world: world.bend_some(),
    "what its own reverse needs": lambda world: world.bend_in_place(),
    "fill": fill,
    "write": write,
    "copy": copy,
}


def outcome(between: Callable[[World], Any]) -> list[Values]:
    """Gradients of a tape, twice, and of another one; products; and memory after each."""
    world, v = World(), np.linspace(-1, 1, N)
    found: list[Values] = []
    for _ in range(2):
        with ti.ad.Tape(world.loss) as tape:
            world.run(lambda: between(world))
        found += world.seen()
        tape.grad()
        found += world.seen()
    for _ in range(2):
        run = lambda: world.run(lambda: between(world))  # noqa: E731
        found += [ti.ad.hvp(run, world.loss, world.x, v), *world.seen()]
    return found


@pytest.mark.filterwarnings("ignore:.*that derivative is lost")
@pytest.mark.parametrize("name", PROGRAMS)
def test_all_is_as_with_copies(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    moved = outcome(PROGRAMS[name])
    monkeypatch.setattr(host, "LEAST_MOVED", 1 << 60)
    for mine, other in zip(moved, outcome(PROGRAMS[name]), strict=True):
        np.testing.assert_array_equal(mine, other)


@pytest.mark.cpu_code("counts copies of the host's memory")
def test_no_copy_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    copies: list[HostKept] = []
    for name in ("restore", "exchange", "present"):
        monkeypatch.setattr(HostKept, name, lambda kept, *rest: copies.append(kept))
    world = World()
    with ti.ad.Tape(world.loss) as tape:
        world.run()
    assert not copies
    assert tape.explain().bytes == 8 * N * STEPS


@pytest.mark.cpu_code("counts moves of the host's memory")
def test_tangents_move_with_their_field(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    ti.ad.hvp(world.run, world.loss, world.x, np.ones(N))
    moved, move = list[HostElements](), HostElements.move
    monkeypatch.setattr(HostElements, "move", lambda *each: moved.append(each[0]) or move(*each))
    ti.ad.hvp(world.run, world.loss, world.x, np.ones(N))
    for field in (world.h, world.h.dual):
        elements = field.find_memory().elements
        assert moved.count(elements) == STEPS + 1  # and back
        assert not elements.deferred.are_elsewhere


@pytest.mark.cpu_code("looks at the host's memory")
def test_a_field_that_somebody_looks_at_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if the view is made between reverses of one tape."""
    world = World()
    with ti.ad.Tape(world.loss) as tape:
        world.run()
    expected = world.seen()
    view = np.asarray(world.h)
    tape.grad()
    for found, wanted in zip(world.seen(), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(view, world.h.to_numpy())
    moves = list[Any]()
    move = HostElements.move
    monkeypatch.setattr(HostElements, "move", lambda *each: moves.append(each[1]) or move(*each))
    tape.grad()
    assert len(moves) == 1  # which was refused


def test_a_given_gradient_sees_the_version() -> None:
    """A function whose gradient reads the field, and launches kernels that read it."""
    world, seen = World(), list[Values]()
    kept = list[Values]()

    @ti.kernel
    def double(k: ti.i32):
        for i in world.h:
            world.h[i] *= 1.0 + 0.125 * k

    @ti.kernel
    def read() -> ti.f64:
        total = 0.0
        for i in world.h:
            total += world.h[i]
        return total

    @ti.ad.grad_replaced
    def grow(k: int) -> None:
        kept.append(world.h.to_numpy())
        double(k)

    @ti.ad.grad_for(grow)
    def shrink(k: int) -> None:
        seen.append(world.h.to_numpy())
        assert np.isclose(read(), seen[-1].sum())
        double.grad(k)

    def run() -> None:
        world.begin()
        for k in range(3):
            world.spread()
            world.step()
            grow(k)
        world.measure()

    with ti.ad.Tape(world.loss):
        run()
    after, gradient = world.h.to_numpy(), world.x.grad.to_numpy()
    with ti.ad.Tape(world.loss):
        world.begin()
        for k in range(3):
            world.spread()
            world.step()
            double(k)
        world.measure()
    np.testing.assert_allclose(gradient, world.x.grad.to_numpy(), rtol=1e-12)
    np.testing.assert_array_equal(after, world.h.to_numpy())
    assert len(seen) == len(kept) == 3


def world_of_a_failed_reverse() -> World:
    """Return a world in which a function's gradient raised an error."""
    world = World()

    @ti.kernel
    def scale():
        for i in world.h:
            world.h[i] *= 1.0

    @ti.ad.grad_replaced
    def fail() -> None:
        scale()

    @ti.ad.grad_for(fail)
    def raise_error() -> None:
        raise KeyError("here")

    with pytest.raises(KeyError), ti.ad.Tape(world.loss):
        fail()
        world.run()
    return world


def test_an_error_in_a_reverse_leaves_memory_as_it_was() -> None:
    world, expected = world_of_a_failed_reverse(), World()
    expected.run()
    np.testing.assert_array_equal(world.h.to_numpy(), expected.h.to_numpy())


@pytest.mark.cpu_code("fields that move")
def test_an_error_in_a_reverse_leaves_fields_where_they_were() -> None:
    elements = world_of_a_failed_reverse().h.find_memory().elements
    assert not elements.deferred.are_elsewhere
