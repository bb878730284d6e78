"""The arrays that a loop writes from one end to the other, and never reads."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import msgspec

from mlirad.bindings import ir
from mlirad.ir.marks.axis_choices import choice_of
from mlirad.ir.memory.large_arrays import bytes_of_memref, bytes_of_number
from mlirad.ir.memory.origins import Origins
from mlirad.ir.ops import Arith, Memref, Scf
from mlirad.ir.pure_operations import is_arithmetic
from mlirad.ir.structured import AT_END, STRUCTURED, For, is_for, runs_in_any_order
from mlirad.ir.walk import (
    ancestors,
    block_operations,
    constant_integer,
    is_defined_in,
    is_zero,
    operations,
    users_of,
)

_ACCESSES = (Memref.LOAD, Memref.STORE, Memref.ATOMIC_RMW, Memref.GENERIC_ATOMIC_RMW)
_FLOW = (Scf.YIELD, Scf.CONDITION, Memref.ATOMIC_YIELD, *STRUCTURED)
SHORTEST = 256  # elements along the axis of a loop


class Stream(msgspec.Struct, frozen=True):
    """An array of which each iteration of a loop writes the elements at its index, all of them."""

    memory: ir.Value
    axis: int  # of the loop's index
    stores: list[ir.Operation]
    numbers: list[int]  # of the stores, among the elements that an iteration writes
    loads: list[ir.Operation]  # of what is not used where the sums begin

    @property
    def components(self) -> int:
        """Return how many elements an iteration writes."""
        return len(self.stores)

    @property
    def element(self) -> ir.Type:
        """The type of its elements."""
        return ir.MemRefType(self.memory.type).element_type

    @property
    def element_bytes(self) -> int:
        """Return the size of an element."""
        return bytes_of_number(self.element)

    @property
    def selects(self) -> list[ir.Operation]:
        """The choices between 0 and what was loaded."""
        return [user for load in self.loads for user in users_of(load.results[0])]

    def written_bytes(self) -> int:
        """Return how much the loops around the stores write at most."""
        extents = ir.MemRefType(self.memory.type).shape
        outer = list(self.stores[0].operands)[2:][: self.axis]
        swept = [extent for extent, index in zip(extents, outer) if _is_index_of_loop(index)]
        return self.element_bytes * prod([*swept, *extents[self.axis :]])


def streams_of(op: ir.Operation, least: int) -> list[Stream]:
    """The streams of at least so many bytes of a loop whose iterations may run in any order."""
    if not runs_in_any_order(op) or AT_END in op.attributes:
        return []
    loop, stores = For(op), dict[ir.Value, list[ir.Operation]]()
    for inner in block_operations(loop.body):
        if inner.name == Memref.STORE and bytes_of_memref(inner.operands[1].type) >= least:
            stores.setdefault(inner.operands[1], []).append(inner)
    if not stores or constant_integer(op.operands[2]) != 1:
        return []
    if any(choice_of(owner).in_lanes for owner in ancestors(op)):  # which must hold no buffers
        return []
    inside = list(operations(op))
    if not all(is_arithmetic(i) or i.name in (*_ACCESSES, *_FLOW) for i in inside):
        return []
    streams = [_stream(loop, memory, stores[memory], inside) for memory in stores]
    return [s for s in streams if s is not None and s.written_bytes() >= least]


def _stream(
    loop: For, memory: ir.Value, stores: list[ir.Operation], inside: list[ir.Operation]
) -> Stream | None:
    type_, axis = ir.MemRefType(memory.type), _axis(loop, stores[0])
    if axis is None or type_.shape[axis] < SHORTEST or is_defined_in(memory, loop.op):
        return None
    places = [list(store.operands)[2:] for store in stores]
    extents = type_.shape[axis + 1 :]
    numbers = [_number(place[axis + 1 :], extents) for place in places]
    if not (
        all(place[: axis + 1] == places[0][: axis + 1] for place in places)
        and sorted(numbers) == list(range(prod(extents)))
        and any(is_defined_in(store.operands[0], loop.op) for store in stores)  # else it is a fill
    ):
        return None
    loads = [op for op in inside if op not in stores and memory in list(op.operands)]
    if all(_begins(loop, load) for load in loads) and _is_apart(memory, inside):
        return Stream(memory, axis, stores, numbers, loads)
    return None


def _number(indices: Sequence[ir.Value], extents: Sequence[int]) -> int:
    """Return which of the elements of an iteration lies at constant indices; -1 for others."""
    number = 0
    for index, extent in zip(indices, extents):
        constant = constant_integer(index)
        if constant is None or not 0 <= constant < extent:
            return -1
        number = number * extent + constant
    return number


def _axis(loop: For, store: ir.Operation) -> int | None:
    """Return the only axis whose index is that of the loop, if others do not change in it, and
    elements lie side by side."""
    _, memory, *indices = store.operands
    type_ = ir.MemRefType(memory.type)
    axes = [axis for axis, index in enumerate(indices) if index == loop.induction]
    changing = {index for index in indices if is_defined_in(index, loop.op)}
    if len(axes) != 1 or changing != {loop.induction}:
        return None
    strides, offset = type_.get_strides_and_offset()
    dense = [prod(type_.shape[axis + 1 :]) for axis in range(axes[0], len(indices))]
    is_dense = offset == 0 and _has_whole_bytes(type_.element_type)
    return axes[0] if is_dense and list(strides)[axes[0] :] == dense else None


def _begins(loop: For, load: ir.Operation) -> bool:
    """Return whether what is loaded is used only if conditions in front of a loop do not hold, and
    0 otherwise."""
    users = users_of(load.results[0]) if load.name == Memref.LOAD else []
    return bool(users) and all(
        user.name == Arith.SELECT
        and not is_defined_in(user.operands[0], loop.op)
        and is_zero(user.operands[1])
        and user.operands[2] == load.results[0]
        for user in users
    )


def _is_apart(memory: ir.Value, inside: list[ir.Operation]) -> bool:
    """Return whether no other array that a loop uses shares elements with one."""
    origins = Origins()
    targets = origins.targets_of(memory)
    arrays = {
        operand
        for op in inside
        for operand in op.operands
        if isinstance(operand.type, ir.MemRefType) and operand != memory
    }
    ways = [origins.targets_of(array) for array in arrays]
    return targets is not None and all(way is not None and not targets & way for way in ways)


def _is_index_of_loop(index: ir.Value) -> bool:
    return isinstance(index, ir.BlockArgument) and is_for(index.owner.owner.operation)


def _has_whole_bytes(element: ir.Type) -> bool:
    return not isinstance(element, ir.IntegerType) or element.width % 8 == 0
