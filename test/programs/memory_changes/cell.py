"""A cell of the table: a program as text, run in one mode, against exact derivatives."""

from __future__ import annotations

import itertools
import linecache
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

import mlirad as ti
from mlirad import te
from mlirad.errors import TaichiCompilationError, TaichiRuntimeError
from programs.memory_changes.jets import Array, Jet
from programs.memory_changes.places import PLACES, Place
from programs.memory_changes.ways import NUMBERS, WAYS, Way

X = np.array([0.6, 0.8, 1.1, 1.3])
DIRECTION = np.array([1.0, -2.0, 0.5, 3.0])
STEPS = 2
LOST = "carries no derivative"  # what a warning says of a value that leaves the program
REFUSALS = (TaichiCompilationError, TaichiRuntimeError)

KERNELS = """
@ti.kernel
def begin({parameters}):
    for i in range(4):
        {m} = 2.0 * x[i]
        {o} = x[i] * x[i] * x[i]

@ti.kernel
def measure({parameter}):
    for i in range(4):
        loss[None] += (i + 1.0) * {m} * {m}
"""
CHANGE = """
@ti.kernel
def change({parameters}):{config}
    for i in range(4):
        {body}
"""
SERIAL = "\n    ti.loop_config(serialize=True)"


class Outcome(Enum):
    """What became of a cell."""

    RIGHT = "right"
    REFUSED = "refused"
    WRONG = "wrong"


@dataclass(frozen=True)
class Result:
    """What became of a cell, and why."""

    outcome: Outcome
    reason: str = ""


@dataclass(frozen=True)
class Cell:
    """A way, a place, a mode, whether a gradient was asked for, and whether all was compiled
    before a derivative was asked for."""

    way: Way
    place: Place
    mode: str
    grad: bool
    is_compiled: bool

    def __str__(self) -> str:
        asked = "asked" if self.grad else "hidden"
        when = "compiled" if self.is_compiled else "new"
        return f"{self.way.name}, {self.place.name}, {self.mode}, {asked}, {when}"

    def text(self) -> str:
        """The program: declarations, kernels, and what prepares the change."""
        place, way = self.place, self.way
        names = {
            "m": place.at("m", "i"),
            "o": place.at("o", "i"),
            "parameters": "m: ti.types.ndarray(), o: ti.types.ndarray()" * place.is_argument,
            "parameter": "m: ti.types.ndarray()" * place.is_argument,
            "shape": place.shape,
            "off": f"ti.deactivate(m_block, {place.index})",
            "config": SERIAL * bool(way.serial),
            "graph_arguments": "".join(
                f", ti.graph.Arg(ti.graph.ArgKind.NDARRAY, '{name}', ti.f64, ndim=1)"
                for name in "mo" * place.is_argument
            ),
        }
        parts = [place.declared(name, self.grad) for name in "mo"]
        parts.append(KERNELS.format(**names))
        if way.kernel or way.serial:
            body = (way.kernel or way.serial).format(**names)
            parts.append(CHANGE.format(body=body, **names))
        parts.append(way.before.format(**names))
        return "\n".join(parts)

    def step(self) -> str:
        """The statement that changes memory."""
        place = self.place
        if not self.way.python:
            return "change(m, o)" if place.is_argument else "change()"
        return self.way.python.format(
            all_m=place.all_of("m"),
            all_o=place.all_of("o"),
            m1=place.at("m", "1"),
            numbers=place.array(str(NUMBERS)),
            graph_values="{'m': m, 'o': o}" if place.is_argument else "{}",
        )

    def expected(self) -> Jet:
        """The loss of each element."""
        x, weights = Jet.variable(X), Jet.constant(np.arange(1.0, 5.0))
        m, o, loss = x.scaled(2.0), x * x * x, Jet.constant(np.zeros(4))
        for _ in range(STEPS):
            loss = loss + weights * m * m
            m = self.way.becomes(m, x, o, self.place)
        return loss + weights * m * m


def cells() -> Iterator[Cell]:
    """All cells that mean something."""
    for way, place, mode in itertools.product(WAYS, PLACES, MODES):
        if way.fits(place):
            for grad, is_compiled in itertools.product(place.grads, (False, True)):
                yield Cell(way, place, mode, grad, is_compiled)


class Running:
    """The program of a cell, declared and ready to run."""

    def __init__(self, cell: Cell) -> None:
        ti.init(default_fp=ti.f64)
        self.x = ti.field(ti.f64, 4, needs_grad=True)
        self.loss = ti.field(ti.f64, (), needs_grad=True)
        self.names: dict[str, Any] = {"ti": ti, "te": te, "np": np, "x": self.x, "loss": self.loss}
        text, file = cell.text(), f"<{cell}>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        if cell.place.name == "torch":
            import torch

            self.names["torch"] = torch
        if cell.way.name == "transfer":
            from mlirad import dist

            self.names["dist"] = dist
        exec(compile(text, file, "exec"), self.names)
        self.step = compile(cell.step(), "<step>", "exec")
        self.cell = cell
        self.x.from_numpy(X)

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The arrays that kernels take."""
        return (self.names["m"], self.names["o"]) if self.cell.place.is_argument else ()

    def state(self) -> list[Any]:
        """The memory that passes from step to step, and what a step empties; a solve has a gradient
        of its own, which may read anything."""
        others = {"solve": [self.loss], "deactivation of everything": [self.names["o"]]}
        return [self.names["m"], *others.get(self.cell.way.name, [])]

    def values(self) -> Array:
        """What the memory holds, for comparison."""
        m = self.names["m"]
        m = m.b if self.cell.place.name == "struct member" else m
        return np.array(m if self.cell.place.is_foreign else m.to_numpy())

    def run(self, steps: Any = range(STEPS)) -> None:
        """Run the program."""
        begin, measure = self.names["begin"], self.names["measure"]
        begin(*self.arguments)
        for _ in steps:
            measure(*self.arguments[:1])
            exec(self.step, self.names)
        measure(*self.arguments[:1])


def _tape(running: Running, **options: Any) -> Array:
    running.loss.fill(0)
    with ti.ad.Tape(running.loss, **options):
        running.run()
    return running.x.grad.to_numpy()


def _reverse(running: Running, expected: Jet) -> Iterator[tuple[Array, Array]]:
    yield _tape(running), expected.first
    yield running.loss.to_numpy(), expected.value.sum()
    yield _tape(running), expected.first


def _limited(running: Running, expected: Jet) -> Iterator[tuple[Array, Array]]:
    yield _tape(running, memory=0.75), expected.first
    yield _tape(running, memory="1MB"), expected.first


def _checkpointed(running: Running, expected: Jet) -> Iterator[tuple[Array, Array]]:
    running.loss.fill(0)
    with ti.ad.Tape(running.loss):
        running.run(ti.ad.checkpointed(range(STEPS), state=running.state(), snapshots=1))
    yield running.x.grad.to_numpy(), expected.first


def _forward(running: Running, expected: Jet) -> Iterator[tuple[Array, Array]]:
    for direction in (DIRECTION, np.eye(4)):
        running.loss.fill(0)
        with ti.ad.FwdMode(running.loss, running.x, seed=direction) as forward:
            running.run()
        yield np.squeeze(forward.tangents(running.loss)), direction @ expected.first


def _second(running: Running, expected: Jet) -> Iterator[tuple[Array, Array]]:
    before = running.values()
    for _ in range(3):
        product = ti.ad.hvp(running.run, running.loss, running.x, DIRECTION)
        yield product, DIRECTION * expected.second
        yield running.values(), before
    yield running.x.grad.to_numpy(), expected.first


def _transformed(running: Running, expected: Jet) -> Iterator[tuple[Array, Array]]:
    before = running.values()
    gradient = ti.ad.grad(running.run, inputs=running.x, output=running.loss)
    for _ in range(2):
        yield gradient(X), expected.first
        yield running.values(), before
    value, tangent = ti.ad.jvp(running.run, inputs=[running.x], output=running.loss)(
        X, (DIRECTION,)
    )
    yield tangent, DIRECTION @ expected.first
    yield value, expected.value.sum()


MODES: dict[str, Callable[[Running, Jet], Iterator[tuple[Array, Array]]]] = {
    "reverse": _reverse,
    "budget": _limited,
    "checkpointed": _checkpointed,
    "forward": _forward,
    "hvp": _second,
    "transforms": _transformed,
}


def outcome(cell: Cell) -> Result:
    """Run the cell."""
    expected = cell.expected()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            running = Running(cell)
            if cell.is_compiled:
                running.run()
            for number, (value, wanted) in enumerate(MODES[cell.mode](running, expected)):
                if not np.allclose(value, wanted, rtol=1e-9, atol=1e-9):
                    lost = [str(one.message) for one in caught if LOST in str(one.message)]
                    if lost:
                        return Result(Outcome.REFUSED, f"warned: {lost[0]}")
                    return Result(Outcome.WRONG, f"check {number}: {value} for {wanted}")
        except REFUSALS as error:
            return Result(Outcome.REFUSED, f"{type(error).__name__}: {error}")
        except ValueError as error:
            if "read-only" not in str(error):
                raise
            return Result(Outcome.REFUSED, "NumPy: the view is read-only")
        finally:
            ti.reset()
    return Result(Outcome.RIGHT)
