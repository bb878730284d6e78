"""Random programs over random sparse trees, beside the same programs on dense fields: values and
gradients to the bit.

A dense program loops over all elements and asks a field which are active; a model in NumPy says
which are. Numbers are small binary fractions, so that no sum or product rounds, in whatever order.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
import pytest

import mlirad as ti
from mlirad.dialect.field_layout import Kind
from mlirad.lang.field.field import Field
from mlirad.lang.layout.tree import SNode
from mlirad.runtime.memory.values import Values
from mlirad.runtime.program import program

TREES, PROGRAMS = 10, 30
SETS, CELLS = 4, 5


@dataclass
class Fields:
    """The fields of a program, and for a dense one which elements are active, and which end."""

    x: Field
    y: Field
    loss: Field
    active: Field | None = None
    ends: Field | None = None

    @property
    def all(self) -> tuple[Field, ...]:
        """What the loops go over and add up."""
        return self.x, self.y, self.loss


class Tree:
    """A random tree, its fields, the same fields without it, and the cells that programs touch."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        rank = self.chance.randint(1, 2)
        self.blocks = self._blocks(rank)
        self.shape = tuple(self.blocks[-1].shape)
        self.offset = tuple(self.chance.choice([0, -3]) for _ in self.shape)
        self.sparse = self._fields()
        self.blocks[-1].place(self.sparse.x, self.sparse.y, offset=self.offset)
        self.dense = self._fields()
        self.dense.active, self.dense.ends = ti.field(ti.i32), ti.field(ti.i32)
        dense = ti.root.dense(ti.axes(*range(len(self.shape))), self.shape)
        dense.place(self.dense.x, self.dense.y, offset=self.offset)
        dense.place(self.dense.active, self.dense.ends, offset=self.offset)
        ti.root.lazy_grad()
        self.at = ti.field(ti.i32, (SETS, CELLS, len(self.shape)))
        self.weights = ti.field(ti.f64, (SETS, CELLS))
        self.cells = self._cells()
        self.at.from_numpy(self.cells + np.array(self.offset, np.int32))
        self.places = ti.field(ti.i32, self.at.shape)  # of the cells of the outermost block
        widths = [n // m for n, m in zip(self.shape, self.blocks[0].shape)]
        self.places.from_numpy(self.cells // np.array([*widths, 1], np.int32)[: len(self.shape)])

    def _blocks(self, rank: int) -> list[SNode]:
        kinds = [self.chance.choice(["pointer", "bitmasked", "dense"]) for _ in range(2)]
        kinds.insert(0, self.chance.choice(["pointer", "pointer", "bitmasked"]))
        found, node = [], ti.root
        for kind in kinds:
            axes = sorted(self.chance.sample(range(rank), self.chance.randint(1, rank)))
            if kind is kinds[0]:
                axes = list(range(rank))
            node = getattr(node, kind)(ti.axes(*axes), [self.chance.choice([2, 3]) for _ in axes])
            found.append(node)
        if self.chance.random() < 0.3:
            found.append(node.dynamic(ti.axes(rank), 5))
        return found

    def _fields(self) -> Fields:
        return Fields(ti.field(ti.f64), ti.field(ti.f64), ti.field(ti.f64, (), needs_grad=True))

    def _cells(self) -> Values:
        """Sets of different elements."""
        sets = [self.chance.sample(range(int(np.prod(self.shape))), CELLS) for _ in range(SETS)]
        return np.stack(np.unravel_index(np.array(sets), self.shape), -1).astype(np.int32)

    # What is active, by the activities that the layout names.

    def sharing(self, level: int, index: Values) -> Values:
        """The elements that lie in the same cell of a sparse block as one; of a list, those up to
        it."""
        one, grids = self.sparse.x.find_memory().layout.activities[level], np.indices(self.shape)
        found = np.ones(self.shape, bool)
        for digits in one.cells:
            found &= grids[digits.axis] // digits.width == index[digits.axis] // digits.width
        if one.item is not None:
            width, extent = one.item.width, one.item.extent
            item = grids[one.item.axis] // width % extent
            found &= item <= index[one.item.axis] // width % extent
        return found


class Model:
    """Which elements are active, for each of the sparse blocks."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        count = len(tree.sparse.x.find_memory().layout.activities)
        self.levels = [np.zeros(tree.shape, bool) for _ in range(count)]

    @property
    def active(self) -> Values:
        return np.logical_and.reduce(self.levels)

    def activate(self, s: int) -> None:
        for index in self.tree.cells[s]:
            for level, found in enumerate(self.levels):
                found |= self.tree.sharing(level, index)

    def end(self, s: int) -> Values:
        """The elements that are set to 0: of cells that are not active, none."""
        ends, active = np.zeros(self.tree.shape, bool), self.active
        for index in self.tree.cells[s][:2]:
            ends |= self.tree.sharing(0, index)
        if self.tree.blocks[0].kind is Kind.BITMASKED:
            self.levels[0] &= ~ends
            return np.zeros_like(ends)
        for found in self.levels:
            found &= ~ends
        return ends & active


@ti.kernel
def add(x: ti.template(), at: ti.template(), weights: ti.template(), s: ti.i32, factor: ti.f64):
    for k in range(CELLS):
        cell = ti.Vector([at[s, k, d] for d in ti.static(range(len(x.shape)))])
        x[cell] = 0.5 * x[cell] + factor * weights[s, k]


@ti.func
def is_active(active: ti.template(), cell: ti.template()) -> ti.i32:
    result = 1
    if ti.static(active is not None):
        result = active[cell]
    return result


@ti.kernel
def square(x: ti.template(), y: ti.template(), active: ti.template()):
    for cell in ti.grouped(x):
        if is_active(active, cell):
            y[cell] += 0.5 * x[cell] * x[cell] + 0.25


@ti.kernel
def mix(x: ti.template(), y: ti.template(), active: ti.template(), first: ti.i32):
    for cell in ti.grouped(x):
        if is_active(active, cell):
            beside = cell
            beside[0] = (cell[0] - first + 1) % x.shape[0] + first
            x[cell] = 0.5 * x[cell] + 0.25 * y[beside]


@ti.kernel
def total(x: ti.template(), y: ti.template(), active: ti.template(), loss: ti.template()):
    for cell in ti.grouped(x):
        if is_active(active, cell):
            loss[None] += x[cell] * (y[cell] + 1)


@ti.kernel
def end_cells(block: ti.template(), places: ti.template(), s: ti.i32):
    ti.loop_config(serialize=True)  # the cells may be the same
    for k in range(2):
        cell = ti.Vector([places[s, k, d] for d in ti.static(range(len(block.shape)))])
        ti.deactivate(block, cell)


@ti.kernel
def end_elements(x: ti.template(), y: ti.template(), ends: ti.template()):
    for cell in ti.grouped(x):
        if ends[cell] != 0:
            x[cell] = 0
            y[cell] = 0


@ti.kernel
def count(x: ti.template(), found: ti.template(), first: ti.template()):
    for cell in ti.grouped(x):
        place = cell - ti.Vector(first)
        found[place] += 1


class Program:
    """Launches on the fields of a tree, sparse or dense."""

    def __init__(self, tree: Tree, fields: Fields, seed: int) -> None:
        self.tree, self.fields, self.seed = tree, fields, seed

    def run(self) -> tuple[Model, list[Values]]:
        """Values, the loss and gradients at the end, and what is active."""
        chance, model, own = random.Random(self.seed), Model(self.tree), self.fields
        self._begin(chance)
        model.activate(0)
        self._add(0, 1.0)
        self._add(1, 2.0)
        model.activate(1)
        self._tell(model)
        with ti.ad.Tape(own.loss):
            for _ in range(chance.randint(3, 5)):
                self._step(chance, model)
            total(own.x, own.y, own.active, own.loss)
        found = [one.find_memory().elements.read() for one in (own.x, own.y)]
        shape = self.tree.shape
        dense = [
            values.reshape(one.find_memory().layout.shape) for values, one in zip(found, own.all)
        ]
        gradients = [one.grad.to_numpy() for one in (own.x, own.y) if one.grad is not None]
        assert all(one.shape == shape for one in (*dense, *gradients))
        return model, [*dense, own.loss.to_numpy(), *gradients]

    def _begin(self, chance: random.Random) -> None:
        tree, own = self.tree, self.fields
        weights = [[chance.choice([-2, -1, 1, 2]) for _ in range(CELLS)] for _ in range(SETS)]
        tree.weights.from_numpy(np.array(weights, np.float64))
        if own.active is None:
            tree.blocks[0].deactivate_all()
            for one in (own.x, own.y):  # of what bitmasked blocks leave
                one.find_memory().elements.fill(0)
            for activity in reversed(own.x.find_memory().layout.activities):
                program().fields[activity.field].elements.fill(0)
        else:
            own.x.fill(0)
            own.y.fill(0)

    def _add(self, s: int, factor: float) -> None:
        add(self.fields.x, self.tree.at, self.tree.weights, s, factor)

    def _tell(self, model: Model) -> None:
        if self.fields.active is not None:
            self.fields.active.from_numpy(model.active.astype(np.int32))

    def _step(self, chance: random.Random, model: Model) -> None:
        own, tree, s = self.fields, self.tree, chance.randrange(SETS)
        kind = chance.choice(["add", "square", "mix", "end"])
        if kind == "add":
            model.activate(s)
            self._add(s, chance.choice([0.5, 2.0]))
        elif kind == "square":
            square(own.x, own.y, own.active)
        elif kind == "mix":
            mix(own.x, own.y, own.active, tree.offset[0])
        else:
            self._end(s, model)
        self._tell(model)

    def _end(self, s: int, model: Model) -> None:
        own, tree = self.fields, self.tree
        ends = model.end(s)
        if own.ends is None:
            end_cells(tree.blocks[0], tree.places, s)
        else:
            own.ends.from_numpy(ends.astype(np.int32))
            end_elements(own.x, own.y, own.ends)


@pytest.mark.rotating
@pytest.mark.parametrize("number", range(TREES))
def test_programs_over_sparse_trees_are_those_over_dense_fields(number: int) -> None:
    ti.init()
    tree = Tree(number)
    found = ti.field(ti.i32, tree.shape)
    for seed in range(number * PROGRAMS, (number + 1) * PROGRAMS):
        model, sparse = Program(tree, tree.sparse, seed).run()
        _, dense = Program(tree, tree.dense, seed).run()
        for one, other in zip(sparse, dense, strict=True):
            assert np.array_equal(one, other), f"program {seed}"
        found.fill(0)
        count(tree.sparse.x, found, tree.offset)
        assert np.array_equal(found.to_numpy(), model.active), f"program {seed}"
