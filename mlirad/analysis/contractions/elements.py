"""Elements of memrefs that accesses name by sums of loop indices, and which memory they lie in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mlirad.analysis.linear import Linear, linear_form
from mlirad.bindings import ir
from mlirad.ir.memory.descriptor import pointer_behind
from mlirad.ir.ops import Func, Memref
from mlirad.ir.signature import NOALIAS, is_marked
from mlirad.ir.walk import defining_op

NEAR = 4  # steps between elements that are loaded with those between them
_ALLOCATIONS = (Memref.ALLOC, Memref.ALLOCA)


class Element(NamedTuple):
    """An element of a memref: a sum along each axis."""

    memref: ir.Value
    forms: tuple[Linear[ir.Value], ...]

    def moves_with(self, index: ir.Value) -> bool:
        """Return whether another value of an index is another element."""
        return any(form.coefficient(index) for form in self.forms)

    def is_next_to_next(self, index: ir.Value) -> bool:
        """Return whether the next value of an index is the next element in memory."""
        return self.steps(index) == 1

    def is_near_to_next(self, index: ir.Value) -> bool:
        """Return whether the elements of an index and its next value are so few steps apart that
        both are loaded with those between them."""
        steps = self.steps(index)
        return steps is not None and 1 <= steps <= NEAR

    def steps(self, index: ir.Value) -> int | None:
        """Return how many elements behind that of an index the one of its next value is; None where
        they differ by more than the last axis."""
        if not self.forms or any(form.coefficient(index) for form in self.forms[:-1]):
            return None
        return self.forms[-1].coefficient(index) if self.strides[-1] == 1 else None

    def tells_apart(self, first: ir.Value, other: ir.Value) -> bool:
        """Return whether two points that differ in two indices at most certainly are two
        elements."""
        has_one = [form.coefficient(first) != 0 for form in self.forms]
        has_other = [form.coefficient(other) != 0 for form in self.forms]
        pairs = list(zip(has_one, has_other))
        return (True, False) in pairs and (False, True) in pairs

    def is_one_for_each(self, indices: Sequence[ir.Value]) -> bool:
        """Return whether any two points of a box certainly are two elements."""
        return all(
            any(
                form.coefficient(index)
                and not any(form.coefficient(other) for other in indices if other != index)
                for form in self.forms
            )
            for index in indices
        )

    @property
    def strides(self) -> list[int]:
        """The distances in memory along the axes; those not known are very negative."""
        return list(ir.MemRefType(self.memref.type).get_strides_and_offset()[0])

    def distance(self, index: ir.Value) -> int:
        """Return how far apart in memory the elements of an index and its next value are; far where
        that is not known."""
        steps = [
            abs(form.coefficient(index)) * (stride if stride >= 0 else 1 << 20)
            for form, stride in zip(self.forms, self.strides)
        ]
        return sum(steps)

    @property
    def names(self) -> set[ir.Value]:
        """All that it is named by."""
        return {name for form in self.forms for name in form.names}


def element_of(memref: ir.Value, indices: Sequence[ir.Value]) -> Element:
    """The element of some indices."""
    return Element(memref, tuple(linear_form(index) for index in indices))


def memory_of(memref: ir.Value) -> ir.Value | None:
    """Return a key that distinguishes the memory of a memref from all other memory in a function;
    None if there is none."""
    op = defining_op(memref)
    if op is not None and op.name in _ALLOCATIONS:
        return memref
    pointer = pointer_behind(memref)
    if not isinstance(pointer, ir.BlockArgument):
        return None
    function = pointer.owner.owner.operation
    if function.name != Func.FUNC:
        return None
    return pointer if is_marked(function, pointer.arg_number, NOALIAS) else None


def are_apart(left: ir.Value, right: ir.Value) -> bool:
    """Return whether two memrefs certainly have no element in common."""
    memory, other = memory_of(left), memory_of(right)
    return memory is not None and other is not None and memory != other
