"""Derivatives where Python writes to fields in sparse blocks, or copies them: what is not active
stays what it is, and so does its derivative."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import mlirad as ti

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*that derivative is lost"),
    pytest.mark.filterwarnings("ignore:.*hidden one"),
]
X = 1.5
LAYOUTS: dict[str, Callable[[], list[Any]]] = {
    "dense": lambda: _nested(("dense", 8)),
    "pointer": lambda: _nested(("pointer", 8)),
    "pointer, dense": lambda: _nested(("pointer", 4), ("dense", 2)),
    "bitmasked": lambda: _nested(("bitmasked", 8)),
    "bitmasked, dense": lambda: _nested(("bitmasked", 4), ("dense", 2)),
    "pointer, bitmasked": lambda: _nested(("pointer", 4), ("bitmasked", 2)),
    "list": lambda: _nested(("dynamic", 8)),
    "large": lambda: _nested(("pointer", 1 << 10), ("bitmasked", 1 << 10)),
}


def _nested(*blocks: tuple[str, int]) -> list[Any]:
    nodes = [ti.root]
    for kind, extent in blocks:
        nodes.append(getattr(nodes[-1], kind)(ti.i, extent))
    return nodes[1:]


class Program:
    """A loss that depends on `x` in the way that `run` says."""

    def __init__(self) -> None:
        ti.init(default_fp=ti.f64)
        self.x, self.loss = (ti.field(ti.f64, (), needs_grad=True) for _ in range(2))
        self.run: Callable[[], None] = lambda: None

    def derivatives(self) -> tuple[float, float, float]:
        """The derivative forward and reverse, and the second one, each of a new run."""
        self.x[None] = X
        with ti.ad.FwdMode(self.loss, self.x):
            self._run()
        forward = self.loss.dual[None]
        with ti.ad.Tape(self.loss):
            self._run()
        second = float(ti.ad.hvp(self._run, loss=self.loss, wrt=self.x, v=1.0))
        return forward, self.x.grad[None], second

    def _run(self) -> None:
        self.loss[None] = 0
        self.run()


@ti.kernel
def put(field: ti.template(), index: ti.i32, factor: ti.f64, x: ti.template()):
    field[index] = factor * x[None]


@ti.kernel
def add_cubes(field: ti.template(), loss: ti.template()):
    for i in range(8):
        loss[None] += field[i] ** 3


@ti.kernel
def drop(block: ti.template(), cell: ti.i32):
    for _ in range(1):
        ti.deactivate(block, [cell])


WRITES: dict[str, Callable[[Any], None]] = {
    "fill": lambda y: y.fill(1.0),
    "from_numpy": lambda y: y.from_numpy(np.ones(y.shape)),
    "slice": lambda y: y.__setitem__(slice(None), 1.0),
}


@pytest.mark.parametrize(
    ("layout", "how"),
    [
        ("bitmasked", "fill"),
        ("pointer, bitmasked", "from_numpy"),
        ("pointer, bitmasked", "slice"),
        ("large", "fill"),
        ("large", "from_numpy"),
    ],
)
def test_a_write_sets_what_is_active(layout: str, how: str) -> None:
    """An element that is not active keeps what it holds, and its derivative with it, also where a
    later launch changes what is active."""
    program = Program()
    y, blocks = ti.field(ti.f64, needs_grad=True), LAYOUTS[layout]()
    blocks[-1].place(y)

    def run() -> None:
        put(y, 5, 2.0, program.x)
        put(y, 1, 1.0, program.x)
        drop(blocks[-1], 5)
        WRITES[how](y)  # element 1
        add_cubes(y, program.loss)
        drop(blocks[-1], 1)
        WRITES[how](y)  # none
        add_cubes(y, program.loss)
        put(y, 3, 0.0, program.x)
        drop(blocks[-1], 3)

    program.run = run
    assert program.derivatives() == pytest.approx((48 * X**2, 48 * X**2, 96 * X))
    assert program.loss[None] == pytest.approx(16 * X**3 + 2)


SMALL = [layout for layout in LAYOUTS if layout != "large"]
COPIES = [(layout, layout) for layout in LAYOUTS]
COPIES += [("pointer", "dense"), ("bitmasked, dense", "dense"), ("list", "bitmasked, dense")]
COPIES += [("dense", "bitmasked, dense"), ("pointer, bitmasked", "bitmasked, dense")]


@pytest.mark.parametrize(("layout", "source"), COPIES)
def test_a_copy_takes_derivatives_to_what_it_activates(layout: str, source: str) -> None:
    program = Program()
    y, z = (ti.field(ti.f64) for _ in range(2))
    blocks = LAYOUTS[layout]()
    blocks[-1].place(y)
    LAYOUTS[source]()[-1].place(z)

    def run() -> None:
        put(z, 5, 2.0, program.x)
        y.copy_from(z)
        add_cubes(y, program.loss)
        if layout == "dense":
            y.fill(0)
        else:
            blocks[0].deactivate_all()
        put(y, 6, 1.0, program.x)
        y.copy_from(z)  # element 6 becomes 0
        add_cubes(y, program.loss)

    program.run = run
    assert program.derivatives() == pytest.approx((48 * X**2, 48 * X**2, 96 * X))
    assert program.loss[None] == pytest.approx(16 * X**3)


@pytest.mark.parametrize(
    ("layout", "source"),
    [
        ("dense", "bitmasked"),
        ("pointer", "bitmasked"),
        ("pointer", "bitmasked, dense"),
        ("bitmasked", "bitmasked"),
        ("pointer, bitmasked", "bitmasked, dense"),
    ],
)
def test_a_copy_leaves_what_is_not_active(layout: str, source: str) -> None:
    """Neither does what an inactive cell of the source holds get to a cell that is not active, nor
    does a copy change what such a cell holds."""
    program = Program()
    y, z = (ti.field(ti.f64, needs_grad=True) for _ in range(2))
    mine, other = LAYOUTS[layout](), LAYOUTS[source]()
    mine[-1].place(y)
    other[-1].place(z)
    holds = "bitmasked" in layout

    def run() -> None:
        put(z, 5, 2.0, program.x)
        put(y, 2, 3.0, program.x)
        other[0].deactivate_all()
        if holds:
            mine[-1].deactivate_all()
        y.copy_from(z)
        add_cubes(y, program.loss)

    program.run = run
    # a dense field is active everywhere; element 2 of a pointer block becomes 0
    slope = {"dense": 8.0, "pointer": 0.0}.get(layout, 27.0)
    assert program.derivatives() == pytest.approx((3 * slope * X**2,) * 2 + (6 * slope * X,))
    assert program.loss[None] == pytest.approx(slope * X**3)


@pytest.mark.parametrize(("layout", "source"), [pair for pair in COPIES if pair[0] != "large"])
def test_a_copy_carries_derivatives_of_what_is_active(layout: str, source: str) -> None:
    """Elements that are inactive in the copy keep their derivatives, and get none."""
    ti.init(default_fp=ti.f64)
    x, y = (ti.field(ti.f64, needs_grad=True) for _ in range(2))
    loss = ti.field(ti.f64, (), needs_grad=True)
    LAYOUTS[layout]()[-1].place(y)
    block = LAYOUTS[source]()[-1]
    block.place(x)
    x[5] = 2.0

    @ti.kernel
    def total():
        for i in range(8):
            loss[None] += (i + 1) * y[i]

    def run() -> None:
        y.copy_from(x)
        total()

    weights, seeds = np.arange(1.0, 9.0), np.linspace(1.0, 2.0, 8)
    run()
    all_active = "dense" in (layout, source)
    is_active = np.ones(8, bool) if all_active else np.array([is_held(y, i) for i in range(8)])
    with ti.ad.Tape(loss):
        run()
    np.testing.assert_array_equal(x.grad.to_numpy(), np.where(is_active, weights, 0.0))
    with ti.ad.FwdMode(loss, [x, y], [seeds, 10 * seeds]):
        run()
    assert loss.dual[None] == pytest.approx(weights @ np.where(is_active, seeds, 10 * seeds))


def is_held(y: Any, index: int) -> bool:
    """Whether an element is active, so that filling sets it."""
    y.fill(1.0)
    return bool(y.to_numpy()[index] == 1.0)


@pytest.mark.parametrize("layout", SMALL)
def test_a_copy_of_an_array_activates_all(layout: str) -> None:
    """On a tape, in forward mode and in hvp, as in a program that nothing records."""
    program = Program()
    y, a = ti.field(ti.f64), ti.ndarray(ti.f64, 8, needs_grad=True)
    blocks = LAYOUTS[layout]()
    blocks[-1].place(y)

    @ti.kernel
    def set_array(a: ti.types.ndarray()):
        for i in a:
            a[i] = program.x[None] * i

    def run() -> None:
        put(y, 6, 1.0, program.x)
        set_array(a)
        y.copy_from(a)
        add_cubes(y, program.loss)

    program.run = run
    cubes = sum(i**3 for i in range(8))
    assert program.derivatives() == pytest.approx((3 * cubes * X**2,) * 2 + (6 * cubes * X,))
    assert program.loss[None] == pytest.approx(cubes * X**3)


@pytest.mark.parametrize("records", [False, True])
def test_an_array_takes_what_inactive_cells_hold(records: bool) -> None:
    """As a kernel that reads them does, and a dense field that is copied to."""
    program = Program()
    y, a = ti.field(ti.f64), ti.ndarray(ti.f64, 8, needs_grad=True)
    block = LAYOUTS["bitmasked"]()[0]
    block.place(y)
    y[3] = 2.0
    block.deactivate_all()
    with ti.ad.FwdMode(program.loss, program.x) if records else nullcontext():
        a.copy_from(y)
    assert a.to_numpy().tolist() == [0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0]


@pytest.mark.filterwarnings("ignore:.*no kernel launched")
@pytest.mark.parametrize("layout", SMALL)
@pytest.mark.parametrize("records", [False, True])
def test_a_copy_of_integers_activates_all(layout: str, records: bool) -> None:
    ti.init()
    n, a, loss = ti.field(ti.i32), ti.ndarray(ti.i32, 8), ti.field(ti.f64, (), needs_grad=True)
    LAYOUTS[layout]()[-1].place(n)
    a.from_numpy(np.arange(8))
    with ti.ad.Tape(loss) if records else nullcontext():
        n.copy_from(a)
    np.testing.assert_array_equal(n.to_numpy(), np.arange(8))


@pytest.mark.parametrize("layout", ["pointer", "pointer, dense", "bitmasked", "list"])
def test_a_vector_is_put_into_what_is_active(layout: str) -> None:
    ti.init(default_fp=ti.f64)
    v, seen = ti.Vector.field(2, ti.f64), ti.field(ti.f64, 8)
    LAYOUTS[layout]()[-1].place(v)

    @ti.kernel
    def read():
        for i in range(8):
            seen[i] = v[i][1]

    v[1] = [5.0, 6.0]
    v.fill([1.0, 2.0])
    read()
    active = {"pointer, dense": [0, 1], "list": [0, 1]}.get(layout, [1])
    assert seen.to_numpy().tolist() == [2.0 if i in active else 0.0 for i in range(8)]


def test_a_checkpointed_loop_repeats_copies_and_writes() -> None:
    program = Program()
    y, z = (ti.field(ti.f64, needs_grad=True) for _ in range(2))
    mine, other = LAYOUTS["pointer, bitmasked"](), LAYOUTS["bitmasked"]()
    mine[-1].place(y)
    other[-1].place(z)
    program.x[None] = X
    with ti.ad.Tape(program.loss):
        for t in ti.ad.checkpointed(range(5), state=[y, z, program.loss], snapshots=1):
            put(z, t, 1.0 + t, program.x)
            y.copy_from(z)
            add_cubes(y, program.loss)
            mine[0].deactivate_all()
            other[0].deactivate_all()  # and holds what it held
            z.fill(7.0)
    # a copy takes what is active
    assert program.x.grad[None] == pytest.approx(3 * X**2 * sum((1.0 + t) ** 3 for t in range(5)))
