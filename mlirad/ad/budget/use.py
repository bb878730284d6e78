"""Effects of a kernel's launch on units of memory, and how it is launched again."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence

from mlirad.ad.budget.graph import Step
from mlirad.ad.budget.units import Units
from mlirad.ad.recording.known_states import Key
from mlirad.dialect import context
from mlirad.dialect.field import PrintOp
from mlirad.dialect.turn import in_turn
from mlirad.errors import TaichiRuntimeError
from mlirad.ir.walk import functions, operations
from mlirad.lang.kernels.launch import Launch
from mlirad.lang.ndarray import Ndarray
from mlirad.pipeline.mode import Mode
from mlirad.runtime.footprints import Footprint, Footprints
from mlirad.runtime.kernels.variant import Variant
from mlirad.runtime.memory.memory import Elements, SparseElements
from mlirad.runtime.program import Program

_Memory = tuple[Key, Elements]


class KernelUse:
    """The accesses of a kernel, for all of its launches.

    A kernel that prints, reads a clock, or uses derivatives, is not launched again: what it makes
    is kept.
    """

    def __init__(self, program: Program, variant: Variant, footprints: Footprints | None) -> None:
        self.program, self.name = program, variant.kernel.name
        accesses = variant.notes.accesses()
        self.read = [access for access in accesses.read if access.part != "sum"]
        self.written = accesses.written
        self.needed: Sequence[Footprint] = ()
        self.before: Sequence[Footprint] = ()
        self.footprints = footprints  # of its reverse, if there is one
        if footprints is not None:
            redone = footprints.redone
            self.needed = [access for access in footprints.needed if access.array not in redone]
            self.before = [
                access
                for access in (*footprints.needed, *footprints.written)
                if access.array in redone
            ]
        self._every = (*self.read, *self.written, *self.needed, *self.before)
        self._known: dict[Hashable, tuple[int, Step]] = {}  # with the units taken apart till then
        touched = (*accesses.read, *accesses.written)
        self.is_repeatable = not (
            prints(variant) or variant.notes.clocks() or any(map(self._is_derivative, touched))
        )

    def _is_derivative(self, access: Footprint) -> bool:
        array = access.array
        return isinstance(array, str) and self.program.derivatives.are_derivatives(array)

    def step(self, units: Units, launch: Launch) -> Step:
        """Return what a launch reads and writes. Raises TaichiRuntimeError for memory that cannot
        be within a budget."""
        boxes = (access.box(launch.values) for access in self._every)
        touched = (*boxes, *(array.address for array in launch.arrays))
        last = self._known.get(touched)
        if last is not None and last[0] == units.taken_apart:
            return last[1]
        step = self._step(units, launch)
        self._known[touched] = units.taken_apart, step
        return step

    def _step(self, units: Units, launch: Launch) -> Step:
        values = launch.values
        memories = {id(access): self._memory(access, launch) for access in self._every}
        for access in self._every:  # which may take units apart
            memory = memories[id(access)]
            if memory is not None:
                units.of_box(*memory, access.box(values))

        def of(accesses: Iterable[Footprint]) -> tuple[int, ...]:
            boxes = [(memories[id(access)], access.box(values)) for access in accesses]
            return tuple(
                dict.fromkeys(u for m, box in boxes if m is not None for u in units.of_box(*m, box))
            )

        replaced = set(of(access for access in self.written if access.part == "whole"))
        adds = frozenset(of(access for access in self.written if access.part == "sum")) - replaced
        blends = frozenset(of(access for access in self.written if not access.part)) - replaced
        reads, writes = of(self.read), of(self.written)
        return Step(
            reads,
            writes,
            blends,
            adds,
            of(self.needed),
            of(self.before),
            cost=units.cost((*reads, *writes)),
            is_repeatable=self.is_repeatable,
        )

    def _memory(self, access: Footprint, launch: Launch) -> _Memory | None:
        """The array of an access; None where nothing of it is kept."""
        if isinstance(access.array, str):
            if self._is_derivative(access):
                return None
            elements = self.program.fields[access.array].elements
            if isinstance(elements, SparseElements):
                if access in self.written:
                    raise self._error(
                        f"writes field '{access.array}' of a sparse block", access.place
                    )
                return None  # nothing writes there
            return access.array, elements
        buffer = launch.array(access.array)
        assert isinstance(buffer.owner, Ndarray)  # ours, or a copy
        if buffer.owner.is_gradient and not buffer.is_mirror:
            raise self._error("uses the gradient of a ti.ndarray", access.place)
        return buffer.address, buffer.elements()

    def _error(self, problem: str, place: str) -> TaichiRuntimeError:
        return TaichiRuntimeError(
            f"ti.ad.Tape(memory=...): kernel '{self.name}' {problem} at {place}, which cannot be "
            "recomputed within a memory limit"
        )

    def again(
        self, mode: Mode, launch: Launch, beside: Callable[[Key], Sequence[Elements]] | None
    ) -> Callable[[], None]:
        """Return how to launch again. `beside` gives the tangents of an array, if there are any:
        what has none yet is constant, and has tangents of 0 when it is made again."""
        if beside is None:
            return lambda: (launch.run(mode), None)[1]
        memories = [
            (self._memory(access, launch), access.box(launch.values)) for access in self.written
        ]
        constant = [(m[0], box) for m, box in memories if m is not None and not beside(m[0])]

        def run() -> None:
            launch.run(mode)
            for key, box in constant:
                for tangents in beside(key):
                    tangents.fill(0, box)

        return run


@in_turn
def prints(variant: Variant) -> bool:
    """Return whether launches print."""
    with context():
        bodies = functions(variant.kernel.module.operation)
        return any(PrintOp.holds(op) for function in bodies for op in operations(function))
