"""Entries of a tape: launches, writes from Python, and functions with a gradient of their own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence, Set
from contextlib import nullcontext

import msgspec

from mlirad.abstract_struct import AbstractStruct
from mlirad.ad.recording.known_states import Key
from mlirad.ad.recording.outer_adjoints import OuterAdjoints
from mlirad.ad.recording.target_memory import box_of, clear_written, index_of_copy, sparse_memory
from mlirad.ad.recording.versions import Version
from mlirad.ir.reports.location import source_location
from mlirad.lang.arguments.array_buffer import ArrayBuffer
from mlirad.lang.field.field import Field
from mlirad.lang.kernels.launch import Launch
from mlirad.lang.recorder import FunctionCall
from mlirad.runtime.boxes import WHOLE, Box, hull
from mlirad.runtime.derivative_kind import ADJOINT, DerivativeKind
from mlirad.runtime.explanation import Row
from mlirad.runtime.footprints import Flow, Footprints
from mlirad.runtime.kernels.codes import Derivative
from mlirad.runtime.kernels.variant import Variant
from mlirad.runtime.memory.deferred_writes import Backlog
from mlirad.runtime.memory.field import FieldMemory
from mlirad.runtime.memory.memory import Elements, Kept, SparseElements
from mlirad.runtime.memory.values import Values


class Entry(ABC):
    """One thing that a tape recorded."""

    saved: list[Version]
    is_copy = False  # whether Python passes derivatives on, all over the arrays of its flows
    outer_adjoints: OuterAdjoints | None = (
        None  # where adjoints are, on tapes whose programs use gradients
    )

    def flows(self) -> Sequence[Flow]:
        """Return which arrays pass derivatives to which; none, if that is constant or unknown."""
        return ()

    @abstractmethod
    def reverse(self) -> None:
        """Run its reverse."""

    @abstractmethod
    def repeat(self) -> None:
        """Do it again at the present state."""

    def move(self, outer_adjoints: OuterAdjoints) -> None:
        """Have the adjoints of some fields apart from their gradients."""
        self.outer_adjoints = outer_adjoints

    def arrays(self) -> Sequence[ArrayBuffer]:
        """The array arguments of its launches."""
        return ()

    def writes_arrays(self) -> bool:
        """Return whether it writes to array arguments."""
        return False

    def calls_gradient(self) -> bool:
        """Return whether its reverse calls a function that was given as a gradient."""
        return False

    def rows(self) -> Sequence[Row]:
        """Return what it keeps besides `saved`."""
        return ()

    def may_write(self, array: Hashable) -> bool:
        """Return whether a launch of it may write to an array, as flows name it."""
        return any(flow.target == array for flow in self.flows())

    def written_hulls(self, symbols: Set[str]) -> Mapping[str, Box] | None:
        """Return a box around what it writes of each of some fields with gradients; None if that
        is not known."""
        return None


class RecordedLaunch(Entry, msgspec.Struct, metaclass=AbstractStruct):
    """A launch, with the arrays that its reverse is passed, and what it overwrote of what earlier
    reverses need."""

    launch: Launch
    saved: list[Version]
    derivative: Derivative  # for the gradients that fields had then: what was saved belongs to it
    buffers: Sequence[ArrayBuffer] = ()  # the arrays as the program has them
    named: Sequence[Hashable] = ()  # what stands for them in flows
    # that iterations of its parallel loops do not meet, where that was not known before
    is_checked: bool = False
    # whether fields hold what the launch stored, so that its reverse may load that
    holds_stored: bool = False

    def flows(self) -> Sequence[Flow]:
        flows = self.derivative.footprints.flows.between
        return named_flows(flows, self.launch.variant, self.named)

    def reverse(self) -> None:
        launch, derivative = self.launch, self.derivative
        if self.holds_stored and derivative.stored is not None:
            derivative = derivative.stored
        derivative.launch(launch.values, launch.arrays, is_checked=self.is_checked)
        self.is_checked = True

    def move(self, outer_adjoints: OuterAdjoints) -> None:
        variant = outer_adjoints.variant(self.launch.variant)
        if variant is not self.launch.variant:
            self.launch = self.launch.with_variant(variant)
            self.derivative = variant.codes.derivative(self.derivative.mode)

    def may_write(self, array: Hashable) -> bool:
        if self.named:
            return bool(self.written_boxes(array))
        return array in self.derivative.footprints.written_arrays

    def written_hulls(self, symbols: Set[str]) -> Mapping[str, Box]:
        boxes = {symbol: self.written_boxes(symbol) for symbol in symbols}
        return {symbol: hull(written) for symbol, written in boxes.items() if written}

    def written_boxes(self, array: Hashable) -> list[Box]:
        """Return what it writes of an array, as flows name it."""
        return written_boxes(array, self.derivative.footprints, self.launch, self.named)

    def arrays(self) -> Sequence[ArrayBuffer]:
        return self.launch.arrays

    def writes_arrays(self) -> bool:
        return any(
            isinstance(footprint.array, int) for footprint in self.derivative.footprints.written
        )

    def __str__(self) -> str:
        kernel = self.launch.variant.kernel
        place = source_location(kernel.module.operation.location)
        return f"kernel '{kernel.name}'" + (f" ({place})" if place is not None else "")

    def repeat(self) -> None:
        self.launch.with_arrays(self.buffers).repeat()


class HostWrite(Entry, msgspec.Struct, metaclass=AbstractStruct):
    """A write from Python: a store of constants."""

    elements: Elements
    adjoints: Sequence[Elements]  # and what else is about the elements that were written over
    box: Box
    saved: list[Version]
    key: Key  # of the field or array
    sparse: FieldMemory | None = None  # of a field of which it sets the active elements only
    written: Values | Kept | None = None  # once it is done, where the tape is asked for it
    backlog: Backlog | None = None  # of the program, if it writes to a field

    def reverse(self) -> None:
        """Clear the adjoint: what was there before has no influence any more."""
        clear_written(self.adjoints, self.box, self.sparse, self.backlog)

    def move(self, outer_adjoints: OuterAdjoints) -> None:
        self.adjoints = [outer_adjoints.elements(adjoint) for adjoint in self.adjoints]

    def written_hulls(self, symbols: Set[str]) -> Mapping[str, Box]:
        return {self.key: WHOLE} if isinstance(self.key, str) else {}

    def note_written(self) -> None:
        """Keep what was written."""
        if self.written is None:
            is_whole = all(ends == (None, None) for ends in self.box)
            is_sparse = is_whole and isinstance(self.elements, SparseElements)
            self.written = self.elements.copy() if is_sparse else self.elements.read(self.box)

    def __str__(self) -> str:
        return "a write from Python"

    def repeat(self) -> None:
        assert self.written is not None
        if isinstance(self.written, Kept):
            self.written.restore()
        else:
            self.elements.write(self.written, self.box)


class HostCopy(Entry, msgspec.Struct, metaclass=AbstractStruct):
    """A copy of one field to another; `kinds` are the derivatives of a field that go back with
    it."""

    target: Field
    source: Field
    place: str
    saved: list[Version]
    kinds: Sequence[DerivativeKind] = (ADJOINT,)

    is_copy = True

    def flows(self) -> tuple[Flow, ...]:
        return (Flow(self.target.symbol, self.place, (self.source.symbol,)),)

    def reverse(self) -> None:
        """The adjoint of what was copied goes to where it came from."""
        copy = self.target.find_memory()
        for kind in self.kinds:
            arrived, sent = self._derivative(self.source, kind), self._derivative(self.target, kind)
            arrived.find_memory().add_copied(sent.find_memory(), copy)
            index = index_of_copy(self.target)
            elements, box = sent.find_memory().elements, box_of(copy.elements, index)
            clear_written([elements], box, sparse_memory(self.target, index))

    def written_hulls(self, symbols: Set[str]) -> Mapping[str, Box]:
        return {self.target.symbol: WHOLE}

    def _derivative(self, field: Field, kind: DerivativeKind) -> Field:
        return field.derivative(
            kind if self.outer_adjoints is None else self.outer_adjoints.kind(field, kind)
        )

    def __str__(self) -> str:
        return f"the copy at {self.place}"

    def repeat(self) -> None:
        self.target.find_memory().copy(self.source.find_memory())


class ConstantLaunch(Entry, msgspec.Struct, metaclass=AbstractStruct):
    """A launch through which no derivative passes, and which writes to nothing with a gradient."""

    launch: Launch
    saved: list[Version]
    is_done: bool = False  # else an exception ended it

    def reverse(self) -> None:
        """Nothing."""

    def may_write(self, array: Hashable) -> bool:
        return True

    def written_hulls(self, symbols: Set[str]) -> Mapping[str, Box]:
        return {}

    def __str__(self) -> str:
        return f"kernel '{self.launch.variant.kernel.name}'"

    def repeat(self) -> None:
        self.launch.repeat()


class RecordedCall(Entry, msgspec.Struct, metaclass=AbstractStruct):
    """A call of a function whose gradient is another function (`ti.ad.grad_replaced`)."""

    call: FunctionCall
    saved: list[Version]
    is_done: bool = False  # else an exception ended it

    def reverse(self) -> None:
        call = self.call
        if self.is_done and call.function.grad is not None:
            with nullcontext() if self.outer_adjoints is None else self.outer_adjoints.lent():
                call.function.grad(*call.args, **call.keywords)

    def calls_gradient(self) -> bool:
        return True

    def may_write(self, array: Hashable) -> bool:
        return True

    def __str__(self) -> str:
        return f"function '{self.call.function.__name__}'"

    def repeat(self) -> None:
        self.call.run()


def named_flows(
    flows: Sequence[Flow], variant: Variant, named: Sequence[Hashable]
) -> Sequence[Flow]:
    """Flows between fields and what stands for the array arguments of a launch, without those
    declared to carry nothing."""
    if not named:
        return flows
    names = {
        number: named[position]
        for number, position in variant.array_positions.items()
        if not variant.kernel.arrays[position].is_cut
    }
    return [
        flow.rename(names) for flow in flows if isinstance(flow.target, str) or flow.target in names
    ]


def written_boxes(
    array: Hashable, footprints: Footprints, launch: Launch, named: Sequence[Hashable]
) -> list[Box]:
    """Return what a launch writes of an array, as flows name it."""
    names: dict[str | int, Hashable] = (
        {number: named[position] for number, position in launch.variant.array_positions.items()}
        if named
        else {}
    )
    return [
        access.box(launch.values)
        for access in footprints.written
        if names.get(access.array, access.array) == array
    ]


def rows_of(entries: Sequence[Entry]) -> list[Row]:
    """Return what entries keep: a row for each array, read and write."""
    rows: dict[tuple[str, str, str, str], int] = {}
    for entry in entries:
        for version in entry.saved:
            verdict = "redone" if version.redone else "kept"
            overwritten = version.overwritten
            key = (str(version.key), overwritten.read, overwritten.written, verdict)
            rows[key] = rows.get(key, 0) + version.copy.nbytes
    more = [row for entry in entries for row in entry.rows()]
    return [*(Row(*key, size) for key, size in rows.items()), *more]
