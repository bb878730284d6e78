"""What is known of a kernel's accesses, without code of it."""

from __future__ import annotations

from mlirad.dialect.field import is_array, is_load
from mlirad.dialect.turn import in_turn
from mlirad.errors import SourceLocation
from mlirad.ir.location import source_location
from mlirad.ir.walk import accesses, functions
from mlirad.runtime.footprints import (
    Accesses,
    Flows,
    Footprints,
    read_accesses,
    read_flows,
    read_footprints,
)
from mlirad.runtime.kernel_ir import KernelIR


class Notes:
    """Footprints, flows, and which array arguments are written: each found when it is first asked
    for."""

    def __init__(self, stages: KernelIR) -> None:
        self._stages = stages
        self._footprints: Footprints | None = None
        self._flows: Flows | None = None
        self._accesses: Accesses | None = None
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
            self._footprints = read_footprints(stages.marked_notes(), stages.kernel.name)
        return self._footprints

    def flows(self) -> Flows:
        """Which arrays pass derivatives to which, and to results, also where there is no
        reverse."""
        if self._footprints is not None:
            return self._footprints.flows
        return self._flows if self._flows is not None else self._find_flows()

    @in_turn
    def _find_flows(self) -> Flows:
        if self._flows is None:
            self._flows = read_flows(self._stages.with_notes("mark-flows"))
        return self._flows

    def accesses(self) -> Accesses:
        """All that a launch reads and writes, also where there is no reverse."""
        return self._accesses if self._accesses is not None else self._find_accesses()

    @in_turn
    def _find_accesses(self) -> Accesses:
        if self._accesses is None:
            self._accesses = read_accesses(self._stages.with_notes("mark-accesses"))
        return self._accesses

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
