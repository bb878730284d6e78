"""A checkpointed loop: its declaration, what its steps did, what it cost."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from mlirad.ad.checkpoint.steps import StepLog
from mlirad.ad.recording.array_table import TapeArray
from mlirad.ad.recording.entries import named_flows
from mlirad.ad.recording.known_states import Key
from mlirad.ad.recording.target_memory import activities_of, memory_of
from mlirad.lang.arguments.array_buffer import ArrayBuffer
from mlirad.lang.field.field import Field
from mlirad.lang.recorder import Target
from mlirad.runtime.footprints import Flow
from mlirad.runtime.kernels.variant import Variant
from mlirad.runtime.memory.memory import Elements


class LoopDeclaration(msgspec.Struct, frozen=True):
    """The state of a loop, what each step writes before it reads it, how many states are kept, and
    where the loop is."""

    state: tuple[Target, ...]
    scratch: tuple[Field, ...]
    snapshots: int
    place: str

    def state_memory(self) -> list[tuple[Key, Elements]]:
        """The arrays of the state; of sparse fields, which elements are active too."""
        return _memory(self.state)

    def memory(self) -> list[tuple[Key, Elements]]:
        """The arrays of state and scratch, with their activity."""
        return _memory((*self.state, *self.scratch))


def _memory(targets: Sequence[Target]) -> list[tuple[Key, Elements]]:
    memory = [memory_of(target)[:2] for target in targets]
    memory += [activity for target in targets for activity in activities_of(target)]
    return list(dict(memory).items())


class Statistics(msgspec.Struct):
    """The cost of a checkpointed loop so far."""

    steps: int = 0
    executions: int = 0  # of steps: the first sweep, and those that were run again
    snapshots: int = 0  # copies taken, during the first sweep and the reverse
    # the most states kept at once: snapshots, and what the program left for after the reverse
    peak_states: int = 0
    state_bytes: int = 0
    peak_bytes: int = (
        0  # the most bytes kept at once: those states, and what the reverse of one step needs
    )


class RecordedSteps(StepLog):
    """Steps, and what they touch besides their state."""

    def __init__(self) -> None:
        super().__init__()
        self.sums: dict[Key, Elements] = {}  # only added to
        self.locals: dict[Key, Elements] = {}  # by which parts of kernels share locals
        self.constants: dict[Key, Elements] = {}  # only read
        self.parts: dict[Variant, None] = {}
        self.named: dict[Flow, None] = {}  # of copies, and of launches on arrays
        self.arrays: dict[int, ArrayBuffer] = {}
        self.calls_gradient = False

    def flows(self) -> dict[Flow, None]:
        """Return which arrays pass derivatives to which."""
        flows = dict(self.named)
        for variant in self.parts:
            flows.update(dict.fromkeys(variant.notes.footprints().flows.between))
        return flows

    def note_part(self, variant: Variant, named: Sequence[TapeArray]) -> None:
        """Steps launch a part of a kernel; `named` stands for its array arguments."""
        if named:
            flows = named_flows(variant.notes.footprints().flows.between, variant, named)
            self.named.update(dict.fromkeys(flows))
        else:
            self.parts[variant] = None

    def take(self, inner: RecordedSteps) -> None:
        """Add what the steps of a loop inside a step touch."""
        self.parts.update(inner.parts)
        self.named.update(inner.named)
        self.arrays.update(inner.arrays)
        self.locals.update(inner.locals)
        self.calls_gradient |= inner.calls_gradient
