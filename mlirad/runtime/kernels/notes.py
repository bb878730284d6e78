"""Facts on a kernel's accesses that need no code of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from mlirad.dialect.field import ClockOp, is_array, is_load
from mlirad.dialect.turn import in_turn
from mlirad.errors import SourceLocation
from mlirad.ir.reports.location import source_location
from mlirad.ir.walk import accesses, functions, operations
from mlirad.kernel.array_arguments import array_positions, own_numbers
from mlirad.pipeline.mode import REVERSE
from mlirad.runtime.footprints import (
    Accesses,
    Flow,
    Flows,
    Footprints,
    read_accesses,
    read_flows,
    read_footprints,
)
from mlirad.runtime.kernels.array_accesses import ArrayAccesses, array_accesses
from mlirad.runtime.kernels.kernel_ir import KernelIR

T = TypeVar("T")


def _found_once(find: Callable[[Notes], T]) -> Callable[[Notes], T]:
    """Keep the result of a method; threads that need it at the same time wait for the first."""

    name = find.__name__

    @in_turn
    def find_in_turn(notes: Notes) -> T:
        if name not in notes.results:
            notes.results[name] = find(notes)
        return notes.results[name]

    @wraps(find)
    def find_once(notes: Notes) -> T:
        result = notes.results.get(name)
        return result if result is not None else find_in_turn(notes)

    return find_once


class Notes:
    """Footprints, flows, and the array arguments that are written, by method in `results`."""

    def __init__(self, stages: KernelIR) -> None:
        self._stages = stages
        self.results: dict[str, Any] = {}

    @_found_once
    def footprints(self) -> Footprints:
        """Return the elements that a launch writes and that its reverse reads. Raises
        TaichiCompilationError if there is no reverse."""
        stages = self._stages
        if stages.kernel.derivatives is not None:
            return self._given_footprints()
        return read_footprints(stages.marked_notes(), stages.kernel.name)

    def _given_footprints(self) -> Footprints:
        """The footprints of a kernel whose reverse is another kernel: all that this reads of what
        the kernel is launched on."""
        stages, accesses = self._stages, self.accesses()
        reverse, _ = stages.given.resolve(REVERSE)
        arrays = {*array_positions(stages.kernel), *stages.kernel.fields}
        read = read_accesses(reverse.with_notes("mark-accesses")).read
        needed = tuple([footprint for footprint in read if footprint.array in arrays])
        sources = {source for flow in self.flows().between for source in flow.sources}
        active = [o for o in needed if isinstance(o.array, int) and o.array in sources]
        return Footprints(needed, tuple(active), accesses.written, (), {}, self.flows())

    def flows(self) -> Flows:
        """Return the arrays that pass derivatives to others, and to results, also if there is no
        reverse."""
        footprints: Footprints | None = self.results.get("footprints")
        return self._noted_flows() if footprints is None else footprints.flows

    @_found_once
    def _noted_flows(self) -> Flows:
        derivatives = self._stages.kernel.derivatives
        if derivatives is None:
            return read_flows(self._stages.with_notes("mark-flows"))
        place = str(source_location(self._stages.kernel.module.operation.location) or "")
        return Flows(tuple(Flow(f.target, place, f.sources) for f in derivatives.flows()), ())

    @_found_once
    def accesses(self) -> Accesses:
        """All that a launch reads and writes, also if there is no reverse; not the arrays that it
        makes for itself."""
        accesses = read_accesses(self._stages.with_notes("mark-accesses"))
        temporary = set(own_numbers(self._stages.kernel))
        read, written = (
            tuple([footprint for footprint in footprints if footprint.array not in temporary])
            for footprints in (accesses.read, accesses.written)
        )
        return Accesses(read, written)

    @_found_once
    def clocks(self) -> list[SourceLocation | None]:
        """Return the places at which a launch reads clocks: if it is repeated, its results
        differ."""
        bodies = functions(self._stages.kernel.module.operation)
        clocks = [op for body in bodies for op in operations(body) if ClockOp.holds(op)]
        return [source_location(op.location) for op in clocks]

    @_found_once
    def array_accesses(self) -> ArrayAccesses:
        """Return the arrays that a launch reads, stores to, and only adds to, with places."""
        return array_accesses(self._stages.kernel)

    @_found_once
    def written_arrays(self) -> dict[int, SourceLocation | None]:
        """The array arguments that a launch writes to, by their position among these, and where."""
        function = functions(self._stages.kernel.module.operation)[0]
        arguments = function.regions[0].blocks[0].arguments
        arrays = [value for value in arguments if is_array(value.type)]
        places: dict[int, SourceLocation | None] = {}
        for op, array, _ in accesses(function):
            if not is_load(op) and array in arrays:
                places.setdefault(arrays.index(array), source_location(op.location))
        return places

    def forget(self) -> None:
        """Drop what depends on the derivatives that the kernel's fields have."""
        self.results.pop("footprints", None)
