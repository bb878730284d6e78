"""What is known of a kernel's accesses, without code of it."""

from __future__ import annotations

from mlirad.dialect.field import is_array, is_load
from mlirad.dialect.turn import in_turn
from mlirad.errors import SourceLocation
from mlirad.ir.reports.location import source_location
from mlirad.ir.walk import accesses, functions
from mlirad.kernel.array_arguments import array_positions, own_numbers
from mlirad.pipeline.mode import REVERSE
from mlirad.runtime.footprints import (
    Accesses,
    Flow,
    Flows,
    Footprint,
    Footprints,
    read_accesses,
    read_flows,
    read_footprints,
)
from mlirad.runtime.kernels.array_accesses import ArrayAccesses, array_accesses
from mlirad.runtime.kernels.kernel_ir import KernelIR


class Notes:
    """Footprints, flows, and which array arguments are written: each found when it is first asked
    for."""

    def __init__(self, stages: KernelIR) -> None:
        self._stages = stages
        self._footprints: Footprints | None = None
        self._flows: Flows | None = None
        self._accesses: Accesses | None = None
        self._array_accesses: ArrayAccesses | None = None
        self._written_arrays: dict[int, SourceLocation | None] | None = None

    def footprints(self) -> Footprints:
        """What a launch writes and what its reverse reads. Raises TaichiCompilationError where
        there is no reverse."""
        found = self._footprints
        return found if found is not None else self._find_footprints()

    @in_turn
    def _find_footprints(self) -> Footprints:
        if self._footprints is None:
            stages = self._stages
            if stages.kernel.derivatives is not None:
                self._footprints = self._given_footprints()
            else:
                self._footprints = read_footprints(stages.marked_notes(), stages.kernel.name)
        return self._footprints

    def _given_footprints(self) -> Footprints:
        """Those of a kernel whose reverse is another one: all that this reads of what the kernel is
        launched on."""
        stages, accesses = self._stages, self.accesses()
        reverse, _ = stages.given.of(REVERSE)
        known = {*array_positions(stages.kernel), *stages.kernel.fields}
        read = read_accesses(reverse.with_notes("mark-accesses")).read
        needed = tuple([one for one in read if one.array in known])
        sources = {source for flow in self.flows().between for source in flow.sources}
        active = [o for o in needed if isinstance(o.array, int) and o.array in sources]
        return Footprints(needed, tuple(active), accesses.written, {}, self.flows())

    def flows(self) -> Flows:
        """Which arrays pass derivatives to which, and to results, also where there is no
        reverse."""
        if self._footprints is not None:
            return self._footprints.flows
        return self._flows if self._flows is not None else self._find_flows()

    @in_turn
    def _find_flows(self) -> Flows:
        derivatives = self._stages.kernel.derivatives
        if self._flows is None and derivatives is not None:
            place = str(source_location(self._stages.kernel.module.operation.location) or "")
            between = [Flow(one.target, place, one.sources) for one in derivatives.flows()]
            self._flows = Flows(tuple(between), ())
        if self._flows is None:
            self._flows = read_flows(self._stages.with_notes("mark-flows"))
        return self._flows

    def accesses(self) -> Accesses:
        """All that a launch reads and writes, also where there is no reverse."""
        return self._accesses if self._accesses is not None else self._find_accesses()

    @in_turn
    def _find_accesses(self) -> Accesses:
        if self._accesses is None:
            found = read_accesses(self._stages.with_notes("mark-accesses"))
            own = set(own_numbers(self._stages.kernel))
            self._accesses = Accesses(_others(found.read, own), _others(found.written, own))
        return self._accesses

    def array_accesses(self) -> ArrayAccesses:
        """Which arrays a launch reads, stores to, and only adds to, and where."""
        accesses = self._array_accesses
        return accesses if accesses is not None else self._find_array_accesses()

    @in_turn
    def _find_array_accesses(self) -> ArrayAccesses:
        if self._array_accesses is None:
            self._array_accesses = array_accesses(self._stages.kernel)
        return self._array_accesses

    def written_arrays(self) -> dict[int, SourceLocation | None]:
        """The array arguments that a launch writes to, by their position among these, and where."""
        found = self._written_arrays
        return found if found is not None else self._find_written_arrays()

    @in_turn
    def _find_written_arrays(self) -> dict[int, SourceLocation | None]:
        function = functions(self._stages.kernel.module.operation)[0]
        arrays = [
            value for value in function.regions[0].blocks[0].arguments if is_array(value.type)
        ]
        found: dict[int, SourceLocation | None] = {}
        for op, array, _ in accesses(function):
            if not is_load(op) and array in arrays:
                found.setdefault(arrays.index(array), source_location(op.location))
        self._written_arrays = found
        return found

    def forget(self) -> None:
        """What derivatives the kernel's fields have has changed."""
        self._footprints = None


def _others(found: tuple[Footprint, ...], numbers: set[int]) -> tuple[Footprint, ...]:
    """Those of arrays that a launch does not make for itself."""
    return tuple([one for one in found if one.array not in numbers]) if numbers else found
