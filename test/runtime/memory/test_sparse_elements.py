"""Elements in sparse blocks, over random trees, on the host and on a device: what is read, set,
kept and put back, beside the same on NumPy's arrays."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest

import mlirad as ti
from mlirad.lang.field.field import Field
from mlirad.lang.layout.tree import SNode
from mlirad.runtime.capacity import Capacity
from mlirad.runtime.memory.sparse import touched
from mlirad.runtime.memory.sparse.sparse_elements import TouchedElements
from mlirad.runtime.memory.values import Values
from mlirad.runtime.program import program

each_machine = pytest.mark.parametrize(
    ("arch", "seed"),
    [*((ti.cpu, seed) for seed in range(40)), *((ti.simt, seed) for seed in range(8))],
)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch, arch: str) -> Iterator[None]:
    """Pieces of few bytes, so that small trees have many."""
    monkeypatch.setattr(touched, "WHOLE", 0)
    monkeypatch.setattr(touched, "PAGE", 16)
    ti.init(arch=arch)
    yield


def random_tree(chance: random.Random) -> tuple[Field, SNode]:
    """A field in two to four blocks, one of them sparse, over one to three axes; the outermost
    block."""
    rank = chance.randint(1, 3)
    kinds = [chance.choice(["dense", "pointer", "bitmasked"]) for _ in range(chance.randint(1, 3))]
    kinds.insert(chance.randrange(len(kinds) + 1), chance.choice(["pointer", "bitmasked"]))
    node: SNode = ti.root
    first = None
    for kind in kinds:
        axes = sorted(chance.sample(range(rank), chance.randint(1, rank)))
        extents = [chance.choice([2, 3, 4]) for _ in axes]
        node = getattr(node, kind)(ti.axes(*axes), extents)
        first = first or node
    if chance.random() < 0.3:
        node = node.dynamic(ti.axes(rank), chance.choice([3, 8]))
    elif chance.random() < 0.3:
        node = node.dense(ti.axes(*range(rank)), 2)
    shape = chance.choice([(), (), (2,)])
    x = ti.field(ti.f32) if not shape else ti.Vector.field(2, ti.f32)
    other = ti.field(ti.f64)
    node.place(other, x) if chance.random() < 0.5 else node.place(x)
    assert first is not None
    return x, first


class Model:
    """A sparse field as NumPy has it: values, and what is active."""

    def __init__(self, x: Field, chance: random.Random) -> None:
        self.x, self.chance = x, chance
        self.layout = x.find_memory().layout
        self.values = np.zeros(self.layout.shape, np.float32)
        self.active = np.zeros(self.layout.index_shape, bool)

    def cell(self) -> tuple[int, ...]:
        return tuple(self.chance.randrange(extent) for extent in self.layout.index_shape)

    def write(self) -> None:
        """Write an element, which activates what lies in its cells."""
        index, value = self.cell(), np.float32(self.chance.uniform(-1, 1))
        if self.x.element_shape:
            self.x[index] = [value, 2 * value]
            self.values[index] = [value, 2 * value]
        else:
            self.x[index] = value
            self.values[index] = value
        self.active |= self.cells_with(index)

    def cells_with(self, index: tuple[int, ...]) -> Values:
        """The elements that are active when one of them is, and those of lists before it."""
        found = np.ones(self.active.shape, bool)
        grids = np.indices(self.active.shape)
        for one in self.layout.activities:
            for digits in one.cells:
                number = grids[digits.axis] // digits.width
                found &= number == index[digits.axis] // digits.width
            if one.item is not None:
                assert one.item.axis not in [digits.axis for digits in one.cells]
                number = grids[one.item.axis] // one.item.width
                found &= number <= index[one.item.axis] // one.item.width
        return found

    @property
    def where(self) -> Values:
        extra = len(self.x.element_shape)
        return np.broadcast_to(
            self.active.reshape(*self.active.shape, *(1,) * extra), self.values.shape
        )

    def check(self) -> None:
        assert (self.x.to_numpy() == np.where(self.where, self.values, 0)).all()
        memory = self.x.find_memory()
        assert isinstance(memory.elements, TouchedElements)
        for elements in (memory.elements, memory.elements.plain):
            assert (elements.read().reshape(memory.layout.shape) == self.values).all()


@each_machine
def test_what_python_writes_is_active(arch: str, seed: int) -> None:
    chance = random.Random(seed)
    model = Model(random_tree(chance)[0], chance)
    model.check()
    for _ in range(6):
        model.write()
        model.check()
    model.x.fill(3.0)
    model.values[model.where] = 3.0
    model.check()
    given = np.random.default_rng(seed).random(model.values.shape, np.float32)
    model.x.from_numpy(given)
    model.values[model.where] = given[model.where]
    model.check()
    index = model.cell()
    found = np.asarray(model.x[index].to_numpy() if model.x.element_shape else model.x[index])
    assert (found == model.values[index]).all()


@each_machine
def test_copies_are_put_back_with_their_activity(arch: str, seed: int) -> None:
    chance = random.Random(seed)
    model = Model(random_tree(chance)[0], chance)
    model.write()
    names = [one.field for one in model.layout.activities]
    all_ = [model.x.find_memory().elements, *(program().fields[name].elements for name in names)]
    chance.shuffle(all_)
    arena = program().executor.memory.arena(Capacity())
    states = []
    for _ in range(3):
        kept = [arena.keep(elements, None, "x") for elements in all_]
        states.append((kept, model.values.copy(), model.active.copy()))
        assert not any(one.differs() for one in kept)
        for _ in range(3):
            model.write()
        assert kept[all_.index(model.x.find_memory().elements)].differs()
    end = [arena.keep(elements, None, "x") for elements in all_], model.values, model.active
    for kept, values, active in reversed(states):
        for one in kept:
            one.exchange()
        model.values, model.active = values, active
        model.check()
    for kept, _, _ in states:
        for one in reversed(kept):
            one.exchange()
    _, model.values, model.active = end
    model.check()
    for elements in all_:
        elements.settle()
    model.check()
    chosen = chance.choice(states)
    for one in chosen[0]:
        one.restore()
    _, model.values, model.active = chosen
    model.check()


@each_machine
def test_values_put_back_without_their_activity_are_found_again(arch: str, seed: int) -> None:
    chance = random.Random(seed)
    model = Model(random_tree(chance)[0], chance)
    for _ in range(4):
        model.write()
    elements = model.x.find_memory().elements
    full = elements.copy()
    elements.fill(0)
    for name in [one.field for one in reversed(model.layout.activities)]:
        program().fields[name].elements.fill(0)
    for one in program().fields.values():
        one.elements.settle()
    assert not elements.any()
    empty = elements.copy()
    full.restore()
    assert (elements.read().reshape(model.values.shape) == model.values).all()
    empty.restore()
    assert not elements.read().any()
    full.exchange()
    assert (elements.read().reshape(model.values.shape) == model.values).all()
    full.add()  # what was there: zeros
    assert (elements.read().reshape(model.values.shape) == model.values).all()


@each_machine
def test_boxes_and_components(arch: str, seed: int) -> None:
    chance = random.Random(seed)
    model = Model(random_tree(chance)[0], chance)
    for _ in range(4):
        model.write()
    elements = model.x.find_memory().elements
    box = tuple(
        chance.choice([(None, None), (0, extent // 2), (extent // 2, extent - 1)])
        for extent in elements.shape
    )
    whole = elements.read()
    inside = tuple(slice(low or 0, None if high is None else high + 1) for low, high in box)
    assert (elements.read(box) == whole[inside]).all()
    if model.x.element_shape:
        model.x.get_scalar_field(1).fill(7.0)
        model.values[..., 1][model.active] = 7.0
        model.check()
        whole = elements.read()
    elements.fill(0, box)
    whole[inside] = 0
    assert (elements.read() == whole).all()


@each_machine
def test_copies_between_fields(arch: str, seed: int) -> None:
    chance = random.Random(seed)
    model = Model(random_tree(chance)[0], chance)
    for _ in range(3):
        model.write()
    again = random.Random(seed)
    twin = random_tree(again)[0]
    other = Model(twin, chance)
    for _ in range(2):
        other.write()
    twin.copy_from(model.x)
    other.values, other.active = model.values, other.active | model.active
    other.check()
    flat = ti.field(ti.f32, model.layout.index_shape) if not model.x.element_shape else None
    if flat is not None:
        flat.copy_from(model.x)
        assert (flat.to_numpy() == model.values).all()
        twin.copy_from(flat)
        assert (twin.to_numpy() == model.values).all()
