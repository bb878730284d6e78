"""The memory of a field or an ndarray, and the boxes of it that Python reads and writes."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.ad.recording.known_states import Key
from mlirad.lang.field.field import Field
from mlirad.lang.ndarray import Ndarray
from mlirad.lang.recorder import Target
from mlirad.runtime.boxes import Box
from mlirad.runtime.derivative_kind import ADJOINT
from mlirad.runtime.memory.deferred_writes import Backlog
from mlirad.runtime.memory.field import FieldMemory
from mlirad.runtime.memory.memory import Elements, Index, clear_later


def memory_of(target: Target) -> tuple[Key, Elements, Elements | None]:
    """The key, the elements and the adjoint's elements of a field or an ndarray."""
    if isinstance(target, Ndarray):
        grad = target.grad
        return target.address, target.elements, None if grad is None else grad.elements
    adjoint = target.existing(ADJOINT)
    memory = None if adjoint is None else adjoint.memory
    return target.symbol, target.find_memory().elements, None if memory is None else memory.elements


def activities_of(target: Target) -> list[tuple[Key, Elements]]:
    """Return what says which elements of a field are active, outermost first; of an ndarray,
    nothing."""
    if isinstance(target, Ndarray):
        return []
    memory = target.find_memory()
    blocks = () if memory.nesting is None else memory.nesting.blocks
    activities = memory.layout.activities
    return [(activity.field, block.cells) for activity, block in zip(activities, blocks)]


def sparse_memory(target: Target, index: Index | None) -> FieldMemory | None:
    """The memory of a field in sparse blocks of which Python writes to more than one element: it
    sets those that are active."""
    is_one = index is not None and not any(isinstance(i, slice) for i in index)
    if is_one or isinstance(target, Ndarray):
        return None
    memory = target.find_memory()
    return None if memory.nesting is None else memory


def index_of_copy(target: Field) -> tuple[()] | None:
    """Return the index that a copy to a field writes to: everything (see `touched_box`); of a
    derivative, which may differ from 0 where its field is not active, that too."""
    return () if target.is_derivative else None


def clear_written(
    derivatives: Sequence[Elements],
    box: Box,
    sparse: FieldMemory | None,
    backlog: Backlog | None = None,
) -> None:
    """Set derivatives to 0 where constants were written; see `sparse_memory`. All of a large one
    are set when they are used, if a `backlog` is given."""
    is_whole = all(ends == (None, None) for ends in box)
    for elements in derivatives:
        if sparse is not None:
            sparse.clear_active(elements, box)
        elif is_whole and backlog is not None:
            clear_later(elements, backlog)
        else:
            elements.fill(0, box)


def box_of(elements: Elements, index: Index | None) -> Box:
    """The box of an element (`index` gives its first axes; a slice stands for all of an axis), or
    of all."""
    everything: Box = ((None, None),) * len(elements.shape)
    if index is None:
        return everything
    return (
        *((None, None) if isinstance(i, slice) else (i, i) for i in index),
        *everything[len(index) :],
    )


def touched_box(target: Target, index: Index | None) -> Box:
    """The box of a write in the axes of a field or an ndarray; of a field in nested blocks, all."""
    elements, rank = memory_of(target)[1], len(target.shape) + len(target.element_shape)
    return box_of(elements, index) if len(elements.shape) == rank else ((None, None),) * rank
