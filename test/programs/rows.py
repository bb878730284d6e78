"""Random programs in which rows of two fields follow from earlier rows, and what their gradients
are: `loss` is a sum of squares of the last rows, which are linear in the first ones."""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

import numpy as np

STEPS, SIZE, MORE = 6, 8, 3  # extents: rows, elements of a row, and along a third axis
Array = np.ndarray[Any, Any]
Cell = tuple[int, int]  # the number of a field, and of a component


class Term(NamedTuple):
    """A multiple of an element some rows back, and some elements aside."""

    factor: float
    cell: Cell
    back: int
    aside: int


class Statement(NamedTuple):
    """`cell[t, i] = sum of terms`, or `+=`."""

    cell: Cell
    terms: list[Term]
    adds: bool


class Program:
    """A step, which elements of a row it makes, and what is added up of the last row. Arrays have
    the number of the field first, then the indices of an element, then the component."""

    def __init__(self, random: Random) -> None:
        self.shape = (STEPS, SIZE, MORE)[: random.choice([2, 2, 3])]
        self.components = random.choice([1, 1, 2])
        self.low, self.high = random.choice([(1, SIZE - 1), (1, SIZE - 1), (0, SIZE), (2, 5)])
        targets = random.choice([[0], [0, 1]])
        cells = [(field, k) for field in targets for k in range(self.components)]
        self.statements = [self._statement(random, cell) for cell in cells]
        self.added = random.choice([[0], [0, 1]])
        self.rows = random.choice([range(2, STEPS), range(2, STEPS), range(2, STEPS, 2)])

    def _statement(self, random: Random, cell: Cell) -> Statement:
        aside = 1 if self.low > 0 and self.high < SIZE else 0
        terms = [
            Term(
                random.choice([0.5, -0.75, 1.25]),
                (random.randrange(2), random.randrange(self.components)),
                random.choice([1, 1, 2]),
                random.randint(-aside, aside),
            )
            for _ in range(random.choice([1, 2, 3]))
        ]
        return Statement(cell, terms, random.random() < 0.2)

    # As source text.

    def source(self, first: tuple[int, ...]) -> str:
        """A module whose `kernels` makes them of two fields, which have these first indices."""

        def element(cell: Cell, row: str, aside: int = 0, of: str = "") -> str:
            places = [row, f"i + {aside}", "j"][: len(self.shape)]
            index = ", ".join(f"{place} + {one}" for place, one in zip(places, first))
            part = f"[{cell[1]}]" if self.components > 1 else ""
            return f"{'uv'[cell[0]]}{of}[{index}]{part}"

        head = f"for i, j in ti.ndrange(({{}}, {{}}), {MORE}):"
        loop = "for i in range({}, {}):" if len(self.shape) == 2 else head
        step = (
            loop.format(self.low, self.high),
            [
                f"{element(cell, 't')} {'+=' if adds else '='} "
                + " + ".join(f"{f} * {element(of, f't - {back}', s)}" for f, of, back, s in terms)
                for cell, terms, adds in self.statements
            ],
        )
        every = [(field, k) for field in (0, 1) for k in range(self.components)]
        last = [element(cell, str(STEPS - 1)) for cell in every if cell[0] in self.added]
        total = loop.format(0, SIZE), [f"loss[None] += {one} ** 2" for one in last]
        clear = (
            loop.format(self.low, self.high),
            [f"{element(cell, 't', of='.grad')} = 0.0" for cell in every if cell[0] == 0],
        )
        lines = ["import mlirad as ti", "", "def kernels(u, v, loss):"]
        for name, (header, body) in {"step": step, "total": total, "clear": clear}.items():
            lines += ["    @ti.kernel", f"    def {name}(t: ti.i32):", f"        {header}"]
            lines += [f"            {line}" for line in body]
        return "\n".join([*lines, "    return step, total, clear", ""])

    # What it does to values, and to their gradients.

    def run(self, x: Array) -> None:
        """All steps."""
        for t in self.rows:
            for cell, terms, adds in self.statements:
                made = sum(f * self._part(x, of, t - back, s) for f, of, back, s in terms)
                own = self._part(x, cell, t)
                own[...] = made + own if adds else made

    def back(self, g: Array, t: int) -> None:
        """The reverse of a step."""
        for cell, terms, adds in reversed(self.statements):
            part = self._part(g, cell, t)
            own = part.copy()
            part *= adds
            for factor, of, back, aside in terms:
                self._part(g, of, t - back, aside)[...] += factor * own

    def seed(self, g: Array, x: Array) -> None:
        """The reverse of the sum of squares; where `x` are tangents, its product with them."""
        g[self.added, -1] += 2 * x[self.added, -1]

    def reverse(self, g: Array, x: Array) -> None:
        """The reverse of all, which left `x`."""
        self.seed(g, x)
        for t in reversed(self.rows):
            self.back(g, t)

    def clear(self, g: Array, t: int) -> None:
        """What the kernel `clear` does."""
        g[0, t, self.low : self.high] = 0

    def _part(self, x: Array, cell: Cell, t: int, aside: int = 0) -> Array:
        return x[cell[0], t, self.low + aside : self.high + aside, ..., cell[1]]
