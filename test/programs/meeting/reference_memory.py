"""Fields, sparse trees and arrays of the reference: arrays of objects, with the activity of each
block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from programs.meeting.dual import primal
from programs.meeting.reference_values import Array, Element, Tensor, bare

Index = tuple[int, ...]


def index_of(index: Any) -> Index:
    """An index as a tuple."""
    if isinstance(index, Tensor):
        return tuple(int(k) for k in index.data)
    if isinstance(index, Sequence):
        return tuple(index)
    return () if index is None else (index,)


def objects(shape: Sequence[int], value: Any) -> Array:
    """An array of one object."""
    return np.full(tuple(shape), value, object)


def primals(data: Array) -> Array:
    """An array without derivatives."""
    return np.array([primal(x) for x in data.flat], float).reshape(data.shape)


class Memory:
    """Elements in an array: an ndarray, or what a field of any layout holds."""

    is_field = False

    def __init__(self, dtype: Any, element: Index = (), graded: bool = False) -> None:
        self.is_float, self.element, self.graded = dtype is float, element, graded
        self.shape: Index = ()
        self.data = objects((), 0)

    def lay_out(self, shape: Sequence[int]) -> None:
        self.shape = tuple(shape)
        self.data = objects((*shape, *self.element), 0.0 if self.is_float else 0)

    def touch(self, index: Index) -> None:
        """Activate the element."""

    def __getitem__(self, index: Any) -> Any:
        place = index_of(index)
        value = self.data[place]
        if not isinstance(value, np.ndarray):
            return value
        return Tensor(value, lambda: self.touch(place))

    def __setitem__(self, index: Any, value: Any) -> None:
        place = index_of(index)
        self.data[place] = bare(value)
        if not any(isinstance(k, slice) for k in place):
            self.touch(place)

    def __iter__(self) -> Iterator[Any]:
        for index in list(np.ndindex(self.shape)):
            yield index if len(index) > 1 else index[0]

    def fill(self, value: float) -> None:
        self.data[...] = value

    def from_numpy(self, values: Array) -> None:
        self.data[...] = np.array(values.tolist(), object)

    def to_numpy(self) -> Array:
        return primals(self.data)

    def copy_from(self, other: Memory) -> None:
        self.data[...] = other.data


KEPT = 2  # of a bitmasked cell that was active


class Block:
    """A block of a tree; of sparse ones, which cells are active, or how long lists are."""

    def __init__(
        self, kind: str = "root", parent: Block | None = None, axes: Index = (), sizes: Index = ()
    ) -> None:
        self.kind, self.above, self.axes, self.sizes = kind, parent, axes, sizes
        self.cells: dict[int, int] = dict(parent.cells) if parent else {}
        around = [self.cells[axis] for axis in sorted(self.cells)]
        for axis, size in zip(axes, sizes, strict=True):
            self.cells[axis] = self.cells.get(axis, 1) * size
        shape = [self.cells[axis] for axis in sorted(self.cells)]
        self.activity = np.zeros(around if kind == "dynamic" else shape, int)
        self.below: list[Block] = []
        self.fields: list[Field] = []
        self.structs: list[Structs] = []

    def _block(self, kind: str, axes: Index, sizes: int | Sequence[int]) -> Block:
        extents = tuple(sizes) if isinstance(sizes, Sequence) else (sizes,) * len(axes)
        block = Block(kind, self, axes, extents)
        self.below.append(block)
        return block

    def dense(self, axes: Index, sizes: Any) -> Block:
        return self._block("dense", axes, sizes)

    def pointer(self, axes: Index, sizes: Any) -> Block:
        return self._block("pointer", axes, sizes)

    def bitmasked(self, axes: Index, sizes: Any) -> Block:
        return self._block("bitmasked", axes, sizes)

    def dynamic(self, axes: Index, sizes: Any) -> Block:
        return self._block("dynamic", axes, sizes)

    def place(self, *fields: Any) -> None:
        for field in fields:
            if isinstance(field, Gradient):
                for each in field.fields:
                    each.graded = each.is_float
            elif isinstance(field, Structs):
                self.place(*field.members.values())
                self.structs.append(field)
            else:
                self.fields.append(field)
                field.block = self
                field.lay_out([self.cells[axis] for axis in sorted(self.cells)])

    def everything(self) -> Iterator[Block]:
        """This block and all blocks in it."""
        yield self
        for block in self.below:
            yield from block.everything()

    def lazy_grad(self) -> None:
        for block in self.everything():
            for field in block.fields:
                field.graded = field.is_float

    def path(self) -> list[Block]:
        return [*(self.above.path() if self.above else []), self]

    def _cell(self, index: Index, field: Field) -> Index:
        """The cell, or list, that an element lies in."""
        shared = self.above if self.kind == "dynamic" else self
        assert shared is not None
        cells = shared.cells
        return tuple(index[axis] * cells[axis] // field.shape[axis] for axis in sorted(cells))

    def holds(self, index: Index, field: Field) -> bool:
        cell = self._cell(index, field)
        if self.kind == "dynamic":
            return bool(index[self.axes[0]] < self.activity[cell])
        return self.kind in ("root", "dense") or self.activity[cell] == 1

    def keeps(self, index: Index, field: Field) -> bool:
        """The element is active, or was, in a bitmasked cell that keeps what it held."""
        return self.holds(index, field) or (
            self.kind == "bitmasked" and self.activity[self._cell(index, field)] == KEPT
        )

    def touch(self, index: Index, field: Field) -> None:
        """Make the cell active that an element lies in."""
        cell = self._cell(index, field)
        if self.kind == "dynamic":
            self.activity[cell] = max(self.activity[cell], index[self.axes[0]] + 1)
        else:
            self.activity[cell] = 1

    def activate(self, cell: Index) -> None:
        """Make a cell of this block active, and those around it."""
        for block in self.path():
            own = sorted(block.cells)
            block.activity[tuple(cell[a] * block.cells[a] // self.cells[a] for a in own)] = 1

    def deactivate(self, cell: Index) -> None:
        """End a cell of this block, or a list, with what lies below. An element that was never
        active is not written."""
        if self.kind == "bitmasked":
            self.activity[cell] *= KEPT if self.activity[cell] == 1 else 1
            return
        is_list = self.kind == "dynamic"
        around = self.above.cells if is_list and self.above else self.cells
        below = list(self.everything())
        for field in [field for block in below for field in block.fields]:
            path = [block for block in field.block.path() if block in below]
            part = np.zeros(field.shape, bool)
            part[_part(cell, around, dict(enumerate(field.shape)))] = True
            for index in map(tuple, np.argwhere(part)):
                if all(block.keeps(index, field) for block in path):
                    field.data[index] = 0.0 if field.is_float else 0
        for block in below:
            shared = block.above if block.kind == "dynamic" else block
            assert shared is not None
            block.activity[_part(cell, around, shared.cells)] = 0

    def deactivate_all(self) -> None:
        """End all cells of the sparse blocks nearest below, or of this one."""
        if self.kind in ("root", "dense"):
            for block in self.below:
                block.deactivate_all()
            return
        for cell in np.ndindex(self.activity.shape):
            self.deactivate(cell)

    def parent(self, levels: int = 1) -> Block:
        block = self
        for _ in range(levels):
            assert block.above is not None
            block = block.above
        return block

    def __iter__(self) -> Iterator[Any]:
        field = next(field for block in self.everything() for field in block.fields)
        widths = [n // self.cells[a] if a in self.cells else n for a, n in enumerate(field.shape)]
        for cell in np.ndindex(self.activity.shape):
            element = tuple(k * width for k, width in zip(cell, widths))
            if all(block.holds(element, field) for block in self.path()):
                yield cell if len(cell) > 1 else cell[0]


def _part(cell: Index, cells: dict[int, int], extents: dict[int, int]) -> tuple[slice, ...]:
    """What of finer cells lies in a cell."""
    first = dict(zip(sorted(cells), cell, strict=True))
    slices = []
    for axis in sorted(extents):
        width = extents[axis] // cells[axis] if axis in cells else extents[axis]
        slices.append(slice(first.get(axis, 0) * width, (first.get(axis, 0) + 1) * width))
    return tuple(slices)


class Gradient:
    """What `place` takes for a gradient."""

    def __init__(self, *fields: Field) -> None:
        self.fields = fields


class Field(Memory):
    """A field: its elements are all there, active or not."""

    is_field = True
    block: Block

    @property
    def grad(self) -> Gradient:
        return Gradient(self)

    def active(self, index: Index) -> bool:
        return all(block.holds(index, self) for block in self.block.path())

    def touch(self, index: Index) -> None:
        for block in self.block.path():
            if block.kind not in ("root", "dense"):
                block.touch(index, self)

    def mask(self) -> Array:
        """Which elements are active."""
        return np.array([self.active(i) for i in np.ndindex(self.shape)], bool).reshape(self.shape)

    def __iter__(self) -> Iterator[Any]:
        for index in np.ndindex(self.shape):
            if self.active(index):
                yield index if len(index) > 1 else index[0]

    def fill(self, value: float) -> None:
        self.data[self.mask()] = value

    def from_numpy(self, values: Array) -> None:
        mask = self.mask()
        self.data[mask] = np.array(values.tolist(), object)[mask]

    def to_numpy(self) -> Array:
        values = primals(self.data)
        values[~self.mask()] = 0
        return values

    def copy_from(self, other: Memory) -> None:
        mask = other.mask() if isinstance(other, Field) else np.ones(self.shape, bool)
        for index in map(tuple, np.argwhere(mask)):
            self.touch(index)
        reached = self.mask()
        self.data[reached] = other.data[reached]

    def parent(self, levels: int = 1) -> Block:
        return self.block if levels == 1 else self.block.parent(levels - 1)


class Structs:
    """A field of structs."""

    def __init__(self, kind: type, members: dict[str, Any]) -> None:
        self.kind, self.members = kind, members

    def __getattr__(self, name: str) -> Any:
        return self.members[name]

    def __getitem__(self, index: Any) -> Element:
        return Element(self.kind, self.members, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        for name, field in self.members.items():
            field[index] = getattr(value, name)

    def __iter__(self) -> Iterator[Any]:
        return iter(next(iter(self.members.values())))

    @property
    def grad(self) -> Gradient:
        return Gradient(*self.members.values())
