"""Blocks of layout trees inside kernels: activity of their cells, and lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from mlirad.bindings import ir
from mlirad.dialect.field_layout import Activity, Kind
from mlirad.errors import TaichiCompilationError, TaichiTypeError
from mlirad.frontend.python.building import effects
from mlirad.frontend.python.building.builder import current
from mlirad.frontend.python.building.regions import if_op
from mlirad.frontend.python.places.arrays import Array, array_ref
from mlirad.frontend.python.places.place import Subscript, check_rank, flat_indices, indices_in
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.matrix import Matrix
from mlirad.frontend.python.values.scalar import Expr
from mlirad.frontend.python.values.struct import Struct, members_of
from mlirad.ir import build
from mlirad.types import i32, u1


class BlockRef(msgspec.Struct, frozen=True):
    """A block as a kernel sees it: how many cells it has along each axis; the activities of the
    sparse blocks from the outermost one to itself; the objects that are placed in its cells, and
    those placed there or in blocks below."""

    name: str
    kind: Kind
    shape: tuple[int, ...]
    activities: tuple[Activity, ...]
    leaves: Callable[[], Sequence[Any]]
    below: Callable[[], Sequence[Any]]

    @property
    def activity(self) -> Activity:
        """The activity of its cells. Raises TaichiTypeError if it has none."""
        if not self.kind.is_sparse:
            raise TaichiTypeError(
                f"the cells of a {self.kind.value} block are always active: expected a pointer, "
                "bitmasked or dynamic block"
            )
        return self.activities[-1]

    def cell(self, key: object) -> list[ir.Value]:
        return indices_of(key, len(self.shape), self.name)

    def list_or_cell(self, key: object) -> list[ir.Value]:
        """The index of a list of a dynamic block, or of a cell of another one."""
        return self.list(key).index if self.kind is Kind.DYNAMIC else self.cell(key)

    def deactivate(self, index: list[ir.Value], *, with_derivatives: bool = True) -> None:
        """Make a cell inactive, or empty a list. The kernel uses all fields that become 0, and so
        their derivatives, whenever they come to have some."""
        for leaf in () if self.kind is Kind.BITMASKED else self.below():
            arrays = array_ref(leaf)
            assert arrays is not None
            if with_derivatives:
                current().emptied.update(dict.fromkeys(array.name for array in arrays.leaves()))
        effects.deactivate(self.activity.field, index)

    def list(self, key: object) -> ListRef:
        """The list of a dynamic block at an index. Raises TaichiTypeError for other blocks."""
        if self.kind is not Kind.DYNAMIC:
            raise TaichiTypeError(f"expected a dynamic block, not a {self.kind.value} one")
        return ListRef(self, indices_of(key, len(self.activity.cells), self.name))


class ListRef(msgspec.Struct, frozen=True):
    """A list of a dynamic block: `x[i]`, where `x[i, j]` are its items."""

    block: BlockRef
    index: list[ir.Value]

    def length(self) -> Expr:
        """The number of its items."""
        return Expr(effects.length(self.block.activity.field, self.index), i32)

    def deactivate(self) -> None:
        self.block.deactivate(self.index)

    def append(self, value: Any) -> Expr:
        """Add an item, and return its number."""
        leaves = self.block.leaves()
        is_one = len(leaves) == 1 and not isinstance(value, Struct)
        values = [value] if is_one else _item_values(value)
        if len(values) != len(leaves):
            raise TaichiCompilationError(
                f"expected {len(leaves)} values, one for each field of the list, got {len(values)}"
            )
        number = Expr(effects.append(self.block.activity.field, self.index), i32)
        item = self._item(number)
        has_room = ex.comparison("<")(number, self._capacity)

        def store() -> None:
            for leaf, component in zip(leaves, values):
                arrays = array_ref(leaf)
                assert arrays is not None
                arrays.leaves()[0].at(item).store(component)

        if_op(ex.cast(has_room, u1).value, store)
        return number

    @property
    def _capacity(self) -> int:
        item = self.block.activity.item
        assert item is not None
        return item.extent

    def _item(self, number: Expr) -> list[ir.Value]:
        item = self.block.activity.item
        assert item is not None
        axes = {digits.axis: index for digits, index in zip(self.block.activity.cells, self.index)}
        position = ex.as_index(number)
        if item.axis in axes:
            start = build.mul(axes[item.axis], build.index(item.extent))
            position = build.add(start, position)
        axes[item.axis] = position
        return [axes[axis] for axis in sorted(axes)]


def _item_values(value: Any) -> list[Any]:
    if isinstance(value, Struct):
        members = members_of(value).values()
        return [v for m in members for v in (_item_values(m) if isinstance(m, Struct) else [m])]
    return list(value.entries) if isinstance(value, Matrix) else list(value)


def indices_of(key: Any, count: int, name: str) -> list[ir.Value]:
    """The `index` values of a subscript. Raises TaichiIndexError for a wrong number of them."""
    indices = indices_in(key)
    check_rank(name, count, indices)
    return [ex.as_index(index) for index in indices]


def block_ref(value: object) -> BlockRef | None:
    """The block behind a block of a layout tree; None for anything else."""
    if isinstance(value, BlockRef):
        return value
    make = getattr(type(value), "__kernel_block__", None)
    return None if make is None else make(value)


def list_at(arrays: Array, key: Subscript) -> ListRef | None:
    """The list that a field's subscript without an item names; None for an element."""
    array = arrays.leaves()[0]
    in_list = array.activities and array.activities[-1].item is not None
    block = block_ref(array.block) if in_list else None
    if block is None or block.kind is not Kind.DYNAMIC:
        return None
    is_short = len(list(flat_indices(key))) == len(array.shape) - 1 == len(block.activity.cells)
    return block.list(key) if is_short else None
