"""Accesses of the steps of a checkpointed loop, and errors for those that are not allowed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mlirad.ad.checkpoint.recorded_steps import LoopDeclaration, RecordedSteps
from mlirad.ad.recorder.custom_gradients import nothing
from mlirad.ad.recording.known_states import Key
from mlirad.ad.recording.target_memory import memory_of
from mlirad.errors import TaichiRuntimeError
from mlirad.lang.arguments.array_buffer import ArrayBuffer
from mlirad.lang.kernels.launch import Launch
from mlirad.lang.ndarray import Ndarray
from mlirad.lang.recorder import GivenGradient, Target
from mlirad.runtime.kernels.array_accesses import ArrayAccesses
from mlirad.runtime.kernels.variant import Variant
from mlirad.runtime.memory.memory import Elements
from mlirad.runtime.program import Program


class StepAccesses:
    """Accesses besides those of what was declared; `outer` are those of the loop around, `note_sum`
    is told of what is only added to."""

    def __init__(
        self,
        program: Program,
        declared: LoopDeclaration,
        log: RecordedSteps,
        outer: StepAccesses | None,
        note_sum: Callable[[Key, Elements], None] | None,
    ) -> None:
        self.program, self.log, self.outer, self.note_sum = program, log, outer, note_sum
        self.place = declared.place
        self.allowed = {key for key, _ in declared.memory()}
        self.read: dict[Key, str] = {}  # by fields and addresses, but for those allowed
        self.accesses: dict[Variant, ArrayAccesses] = {}

    def has_read(self, key: Key) -> bool:
        """Return whether a step of this loop, or of one around it, has read an array."""
        return key in self.read or (self.outer is not None and self.outer.has_read(key))

    def note_launch(self, launch: Launch) -> None:
        """Raise TaichiRuntimeError where a launch writes what was not declared; note what it
        reads."""
        variant, arrays, who = launch.variant, launch.arrays, f"kernel '{launch.kernel.__name__}'"
        accesses = self.accesses.get(variant)
        if accesses is None:
            accesses = self.accesses[variant] = variant.notes.array_accesses()
            self._note_fields(who, accesses)
        if arrays:
            self.log.arrays.update({array.address: array for array in arrays})
            self._note_locals(arrays[len(arrays) - variant.kernel.shared :])
            self._note_arrays(who, accesses, launch)
        if self.outer is not None:
            self.outer.note_launch(launch)

    def _note_locals(self, buffers: Sequence[ArrayBuffer]) -> None:
        """The parts of a kernel share locals by some arrays: no step finds there what another one
        left."""
        for buffer in buffers:
            if buffer.address not in self.log.locals:
                self.allowed.add(buffer.address)
                self.log.locals[buffer.address] = buffer.elements()
                if self.note_sum is not None:
                    self.note_sum(buffer.address, buffer.elements())

    def _note_fields(self, who: str, accesses: ArrayAccesses) -> None:
        current = self.program
        for array, place in (
            *accesses.stored.items(),
            *accesses.added.items(),
            *accesses.read.items(),
        ):
            if array in current.derivatives.gradients:
                raise self.error(
                    f"{who} uses the gradient field '{array}' at {place}, which the reverse changes"
                )
        for places, note in (
            (accesses.stored, self._note_stored),
            (accesses.added, self._note_added),
            (accesses.read, self._note_read),
        ):
            for array, place in places.items():
                if isinstance(array, str):
                    name = _name_of(array, current)
                    note(array, current.fields[array].elements, name, who, place)

    def _note_arrays(self, who: str, accesses: ArrayAccesses, launch: Launch) -> None:
        for places, note in (
            (accesses.stored, self._note_stored),
            (accesses.added, self._note_added),
            (accesses.read, self._note_read),
        ):
            for array, place in places.items():
                if isinstance(array, str):
                    continue
                buffer = launch.array(array)
                if isinstance(buffer.owner, Ndarray) and buffer.owner.is_gradient:
                    raise self.error(
                        f"{who} uses the gradient of a ti.ndarray at {place}, which the reverse "
                        f"changes"
                    )
                if places is not accesses.read and not buffer.is_ours:
                    raise self.error(
                        f"{who} writes to an array argument at {place} that is not a ti.ndarray: "
                        "its changes cannot be tracked"
                    )
                note(
                    buffer.address,
                    buffer.elements(),
                    f"an array argument of shape {buffer.dims}",
                    who,
                    place,
                )

    def _note_stored(self, key: Key, elements: Elements, name: str, who: str, place: str) -> None:
        if key not in self.allowed:
            raise self.error(
                f"{who} writes to {name} at {place}, which is neither in state= nor in scratch="
            )

    def _note_added(self, key: Key, elements: Elements, name: str, who: str, place: str) -> None:
        if key in self.allowed or key in self.log.sums:
            return
        if key in self.read:
            raise self.error(
                f"{who} adds to {name} at {place}, which is read at {self.read[key]}: put it "
                f"into state="
            )
        if self.log.calls_gradient:
            raise self.error(
                f"{who} adds to {name} at {place}, and a user-defined gradient may read it: put "
                "it into state="
            )
        self.log.sums[key] = elements
        if self.note_sum is not None:
            self.note_sum(key, elements)

    def _note_read(self, key: Key, elements: Elements, name: str, who: str, place: str) -> None:
        if key in self.allowed or key in self.read:
            return
        if key in self.log.sums:
            raise self.error(
                f"{who} reads {name} at {place}, to which steps add: put it into state="
            )
        self.read[key] = place
        self.log.constants[key] = elements

    def note_target(self, target: Target, who: str, place: str, *, is_written: bool) -> None:
        """Note what Python reads or writes; see `note_launch`."""
        key, elements, _ = memory_of(target)
        note = self._note_stored if is_written else self._note_read
        name = (
            f"field '{key}'" if isinstance(key, str) else f"a ti.ndarray of shape {elements.shape}"
        )
        note(key, elements, name, who, place)
        if self.outer is not None:
            self.outer.note_target(target, who, place, is_written=is_written)

    def note_call(self, function: GivenGradient) -> None:
        """Steps call a function with a gradient of its own, which may read everything."""
        if function.grad is nothing:
            return
        if self.log.sums:
            raise self.error(
                f"function '{function.__name__}' has its own gradient, which may read "
                f"{', '.join(repr(key) for key in self.log.sums)}: put it into state="
            )
        self.log.calls_gradient = True
        if self.outer is not None:
            self.outer.note_call(function)

    def error(self, message: str) -> TaichiRuntimeError:
        return TaichiRuntimeError(f"ti.ad.checkpointed() at {self.place}: {message}")


def _name_of(symbol: str, program: Program) -> str:
    """A field of the user's, or the activity of one."""
    of = [name for name in program.trees.companions.get(symbol, ()) if not name.startswith("$")]
    return (
        f"the activity of field '{of[0]}'" if symbol.startswith("$") and of else f"field '{symbol}'"
    )
