"""Launches of an `hvp` that earlier ones recorded are known, and give what they gave before,
whatever happens between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad as ti
from mlirad.ad.recording.known_states import State
from mlirad.lang.kernels.kernel_variants import KernelVariants
from mlirad.runtime.memory.host.host_memory import HostArena

N = 5
Array = np.ndarray[Any, Any]


@pytest.fixture(autouse=True)
def program() -> None:
    ti.init(default_fp=ti.f64)


class World:
    """`y` moves in place, `rows` hold its squares, and `loss` takes them in linearly."""

    def __init__(self) -> None:
        self.x, self.y = x, y = [ti.field(ti.f64, N, needs_grad=True) for _ in range(2)]
        self.rows = rows = ti.field(ti.f64, (4, N), needs_grad=True)
        self.loss = loss = ti.field(ti.f64, (), needs_grad=True)
        x.from_numpy(np.linspace(0.4, 0.9, N))

        @ti.kernel
        def begin():
            for i in x:
                y[i] = x[i]

        @ti.kernel
        def move(t: int, rate: ti.f64):
            for i in y:
                y[i] += rate * y[i] * x[i]
            for i in y:
                rows[t, i] = y[i] * y[i]

        @ti.kernel
        def add_up(t: int):
            for i in y:
                loss[None] += rows[t, i]

        self.begin, self.move, self.add_up = begin, move, add_up

    def run(self, steps: int = 3, rate: float = 0.5, between: Callable[[], Any] = int) -> None:
        self.begin()
        for t in range(steps):
            self.move(t, rate)
            between()
        for t in range(steps):
            self.add_up(t)

    def write(self) -> None:
        """Write from Python to what reverses need."""
        self.y[1] = 0.3

    def product(self, v: Array, **options: Any) -> list[Array]:
        found = ti.ad.hvp(lambda: self.run(**options), self.loss, self.x, v)
        return [found, *(field.to_numpy() for field in (self.x.grad, self.y, self.rows))]

    def outcomes(self) -> list[Array]:
        """What different programs give, one after the other, twice."""
        v, w = np.linspace(-1, 1, N), np.linspace(2, 1, N)
        return [
            found
            for _ in range(2)
            for program in (
                self.product(v),
                self.product(w),
                self.product(v, steps=2),
                self.product(v, rate=0.25),
                self.product(v, between=self.write),
                [ti.ad.hessian(self.run, self.loss, self.x)],
                [self.gradient()],
                self.product(v),
            )
            for found in program
        ]

    def gradient(self) -> Array:
        with ti.ad.Tape(self.loss):
            self.run()
        return self.x.grad.to_numpy()


def test_known_launches_give_the_same() -> None:
    known = World().outcomes()
    ti.init(default_fp=ti.f64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(State, "find", lambda state, launch: None)
        expected = World().outcomes()
    for mine, other in zip(known, expected, strict=True):
        np.testing.assert_array_equal(mine, other)


def test_products_against_differences() -> None:
    world, v, step = World(), np.linspace(-1, 1, N), 1e-6
    x = world.x.to_numpy()
    products = [world.product(v)[0] for _ in range(3)]
    slopes = []
    for sign in (1, -1):
        world.x.from_numpy(x + sign * step * v)
        slopes.append(world.gradient())
    for found in products:
        np.testing.assert_allclose(found, (slopes[0] - slopes[1]) / (2 * step), rtol=1e-7)


def test_all_launches_are_known_from_the_third_product_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The second one may give kernels more tangents, or fewer."""
    world, known, find = World(), list[bool](), State.find

    def note(state: State, *arguments: Any) -> Any:
        found = find(state, *arguments)
        known.append(found is not None)
        return found

    monkeypatch.setattr(State, "find", note)
    for _ in range(2):
        world.product(np.ones(N))
    known.clear()
    world.product(np.ones(N), rate=0.75)
    assert known == [True] * 7
    known.clear()
    world.product(np.ones(N), between=world.write)
    assert not all(known)


def noted_copies(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The copies that are kept from now on: names, and bytes."""
    copies, keep = list[tuple[str, int]](), HostArena.keep

    def note(arena: HostArena, elements: Any, box: Any, name: str) -> Any:
        copies.append((name, elements.within(box).nbytes))
        return keep(arena, elements, box, name)

    monkeypatch.setattr(HostArena, "keep", note)
    return copies


@pytest.mark.cpu_code("counts copies of the host's memory")
def test_known_launches_keep_what_they_overwrite(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = noted_copies(monkeypatch)
    world = World()
    counts = []
    for _ in range(3):
        kept.clear()
        world.product(np.ones(N))
        counts.append(sorted(kept))
    assert counts[1] == counts[2]
    of_y = [size for name, size in counts[2] if name == f"'{world.y.symbol}'"]
    assert of_y.count(8 * N) == len(of_y) >= 6  # of each of three steps, with its tangents


@pytest.mark.cpu_code("counts copies of the host's memory")
def test_small_fields_are_kept_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """All rows of a field, before the first of them is written; also for the first product."""
    kept = noted_copies(monkeypatch)
    world = World()
    world.run()
    later = world.rows.find_memory().elements.deferred
    if later is not None and later.are_possible:
        pytest.skip("copies are put back later, row by row")
    rows = 7.0 + np.arange(4 * N).reshape(4, N)
    for _ in range(2):
        kept.clear()
        world.rows.from_numpy(rows)
        world.product(np.ones(N))
        assert [size for name, size in kept if name == f"'{world.rows.symbol}'"] == [8 * 4 * N]
        np.testing.assert_array_equal(world.rows.to_numpy(), rows)


def test_kernels_that_only_ran_with_tangents_are_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their arguments are not looked up again, and the first launch that nothing records runs the
    primal."""
    world, prepared, prepare = World(), list[str](), KernelVariants.prepare

    def note(variants: KernelVariants, kernel: Any, *arguments: Any) -> Any:
        prepared.append(kernel.__name__)
        return prepare(variants, kernel, *arguments)

    monkeypatch.setattr(KernelVariants, "prepare", note)
    world.product(np.ones(N))
    assert {*prepared} == {"begin", "move", "add_up"}
    prepared.clear()
    found = world.product(np.ones(N), rate=0.75)
    assert not prepared
    ti.init(default_fp=ti.f64)
    fresh = World()
    fresh.run(rate=0.75)
    expected = fresh.rows.to_numpy()
    np.testing.assert_array_equal(world_rows(0.75), expected)
    assert len(found) == 4


def world_rows(rate: float) -> Array:
    """What launches compute behind a product."""
    world = World()
    world.product(np.ones(N))
    for _ in range(2):
        world.loss[None] = 0.0
        world.run(rate=rate)
    np.testing.assert_allclose(world.loss[None], world.rows.to_numpy()[:3].sum(), rtol=1e-12)
    return world.rows.to_numpy()
