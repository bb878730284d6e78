"""Derivatives of programs that deactivate cells, in every layout and mode, compiled before the
derivatives had memory, and after."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest

import mlirad as ti

X, FACTOR = 1.5, 2.0


@dataclass
class Layout:
    """A block whose cells are deactivated, the block that holds the field, how many elements lie in
    a cell of the first, and whether they stay what they are."""

    block: Any
    leaf: Any
    width: int = 1
    keeps: bool = False


def _nested(*blocks: str | tuple[str, int], of: int = 0, keeps: bool = False) -> Layout:
    """Blocks over one axis of 8 elements, of which number `of` is deactivated."""
    nodes, extents = [ti.root], [8, 2, 2] if len(blocks) == 1 else [8 >> len(blocks) - 1, 2, 2]
    for kind, extent in zip(blocks, extents):
        nodes.append(getattr(nodes[-1], str(kind))(ti.i, extent))
    below = extents[of + (blocks[of] != "dynamic") : len(blocks)]
    return Layout(nodes[of + 1], nodes[-1], int(np.prod(below)), keeps)


LAYOUTS: dict[str, Callable[[], Layout]] = {
    "pointer": lambda: _nested("pointer"),
    "pointer, dense": lambda: _nested("pointer", "dense"),
    "pointer, pointer, dense": lambda: _nested("pointer", "pointer", "dense"),
    "inner pointer": lambda: _nested("pointer", "pointer", of=1),
    "pointer, bitmasked, dense": lambda: _nested("pointer", "bitmasked", "dense"),
    "bitmasked": lambda: _nested("bitmasked", keeps=True),
    "inner bitmasked": lambda: _nested("pointer", "bitmasked", of=1, keeps=True),
    "pointer in bitmasked": lambda: _nested("bitmasked", "pointer", of=1),
    "pointer in dense": lambda: _nested("dense", "pointer", of=1),
    "list": lambda: _nested("dynamic"),
    "list in pointer": lambda: _nested("pointer", "dynamic", of=1),
    "pointer, list": lambda: _nested("pointer", "dynamic"),
}
MEMORIES = ("hidden", "needs_grad", "lazy", "placed")
WAYS = ("python", "kernel", "a loop over cells", "all trees")


@dataclass
class Program:
    """Element 5 gets twice `x`, then is deactivated, then gets `x`; the loss adds up its cubes."""

    x: Any
    loss: Any
    state: Any
    run: Callable[[], None]
    step: Callable[[], None]
    begin: Callable[[], None]
    kept: float  # of the first factor, when the second one comes

    def factors(self, steps: int) -> float:
        """The loss for an `x` of 1."""
        total = value = 0.0
        for _ in range(steps):
            value += FACTOR
            total += value**3
            value = value * self.kept + 1.0
            total += value**3
        return total


def _field(layout: Layout, memory: str) -> Any:
    y = ti.field(ti.f64, needs_grad=memory == "needs_grad")
    if memory == "placed":
        layout.leaf.place(y, y.grad, y.dual)
    else:
        layout.leaf.place(y)
    return y


def _deactivation(layout: Layout, way: str) -> Callable[[], None]:
    """What deactivates the cell of element 5, and perhaps others."""
    block, around = layout.block, layout.block.parent()
    is_list = block.kind.value == "dynamic"
    cell = [] if is_list and around.parent() is None else [5 // layout.width]

    @ti.kernel
    def one():
        for _ in range(1):
            ti.deactivate(block, cell)

    @ti.kernel
    def over_cells():
        for i in block:
            ti.deactivate(block, [i])

    @ti.kernel
    def over_cells_around():
        for i in around:
            ti.deactivate(block, [i])

    if way == "a loop over cells" and cell:
        return over_cells_around if is_list else over_cells
    python = {"python": block.deactivate_all, "all trees": ti.deactivate_all_snodes}
    return python.get(way, one)


def _program(name: str, way: str, memory: str) -> Program:
    ti.init(default_fp=ti.f64)
    layout = LAYOUTS[name]()
    y, x = _field(layout, memory), ti.field(ti.f64, (), needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)
    if memory == "lazy":
        ti.root.lazy_grad()
        ti.root.lazy_dual()
    deactivate = _deactivation(layout, way)

    @ti.kernel
    def add(factor: ti.f64):
        y[5] += factor * x[None]

    @ti.kernel
    def total():
        loss[None] += y[5] ** 3

    def step() -> None:
        add(FACTOR)
        total()
        deactivate()
        add(1.0)
        total()

    def run() -> None:
        loss[None] = 0
        step()

    def begin() -> None:
        y[5] = 0.0
        ti.root.deactivate_all()
        loss[None] = 0

    x[None] = X
    keeps = layout.keeps and not (way == "all trees" and "inner" in name)
    return Program(x, loss, y, run, step, begin, float(keeps))


def _plain(made: Program) -> tuple[float, float]:
    made.run()
    return made.loss[None], made.factors(1) * X**3


def _reverse(made: Program) -> tuple[float, float]:
    with ti.ad.Tape(made.loss):
        made.run()
    return made.x.grad[None], 3 * made.factors(1) * X**2


def _forward(made: Program) -> tuple[float, float]:
    with ti.ad.FwdMode(made.loss, made.x):
        made.run()
    return made.loss.dual[None], 3 * made.factors(1) * X**2


def _three_directions(made: Program) -> tuple[Any, Any]:
    with ti.ad.FwdMode(made.loss, made.x, seed=np.array([1.0, 2.0, -1.0])) as mode:
        made.run()
    return mode.tangents(made.loss), 3 * made.factors(1) * X**2 * np.array([1.0, 2.0, -1.0])


def _hvp(made: Program) -> tuple[Any, float]:
    return ti.ad.hvp(made.run, loss=made.loss, wrt=made.x, v=1.0), 6 * made.factors(1) * X


def _checkpointed(made: Program) -> tuple[float, float]:
    with ti.ad.Tape(made.loss):
        for _ in ti.ad.checkpointed(range(3), state=[made.state, made.loss], snapshots=1):
            made.step()
    return made.x.grad[None], 3 * made.factors(3) * X**2


MODES = (_plain, _forward, _reverse, _hvp, _three_directions, _checkpointed)


@pytest.mark.filterwarnings("ignore:.*hidden one")
@pytest.mark.parametrize("name", LAYOUTS)
def test_a_deactivation_clears_whatever_derivatives_there_are(name: str) -> None:
    """Each way with each memory; the modes follow one another in six orders."""
    shift = list(LAYOUTS).index(name)
    for number, (way, memory) in enumerate(product(WAYS, MEMORIES)):
        if (number + number // 4 + 3 * shift) % 8:  # two of them, others in each layout
            continue
        made = _program(name, way, memory)
        for mode in ((number + shift) % 6, (number + shift + 1) % 6, (number + shift + 3) % 6):
            made.begin()
            found, wanted = MODES[mode](made)
            assert found == pytest.approx(wanted, rel=1e-12), (way, memory, mode)
