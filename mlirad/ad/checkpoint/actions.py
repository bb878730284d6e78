"""Actions of a step of a checkpointed loop, without their arguments: so that many steps share them.

An action is done again (`replay`), or done again and recorded by a tape (`record`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from mlirad.abstract_struct import AbstractStruct
from mlirad.ad.recorder.recording import Recording
from mlirad.ad.recording.target_memory import box_of, memory_of
from mlirad.errors import TaichiRuntimeError
from mlirad.lang.arguments.array_buffer import ArrayBuffer
from mlirad.lang.field.field import Field
from mlirad.lang.kernels.launch import Launch, LaunchedKernel
from mlirad.lang.ndarray import Ndarray
from mlirad.lang.recorder import FunctionCall, GivenGradient, Target
from mlirad.lang.transfer import Pass
from mlirad.runtime.kernels.variant import Variant
from mlirad.runtime.memory.memory import Index

Step = Sequence[tuple["Action", tuple[Any, ...]]]


class Action(ABC):
    """An action that is done again with recorded arguments; hashable."""

    @abstractmethod
    def replay(self, tape: Recording, arguments: tuple[Any, ...]) -> None:
        """Do it."""

    @abstractmethod
    def record(self, tape: Recording, arguments: tuple[Any, ...]) -> None:
        """Do it, recorded by a tape."""


class LaunchAgain(Action, msgspec.Struct, frozen=True, metaclass=AbstractStruct):
    """A part of a kernel. The arguments are the launch's."""

    kernel: LaunchedKernel
    piece: Variant

    def launch(self, arguments: tuple[Any, ...]) -> Launch:
        return Launch(self.kernel, self.piece, arguments)

    def replay(self, tape: Recording, arguments: tuple[Any, ...]) -> None:
        tape.program_mode.run(self.launch(arguments))

    def record(self, tape: Recording, arguments: tuple[Any, ...]) -> None:
        tape.program_mode.record(self.launch(arguments))


class LaunchOnArrays(LaunchAgain, frozen=True):
    """A part of a kernel with array arguments, which come last."""

    def launch(self, arguments: tuple[Any, ...]) -> Launch:
        return Launch(self.kernel, self.piece, arguments[:-1], arguments[-1])


def checksums(arrays: Sequence[ArrayBuffer]) -> tuple[int, ...]:
    """Checksums of the arrays that are not ours: of NumPy's and torch's."""
    theirs = [array for array in arrays if not isinstance(array.owner, Ndarray)]
    return tuple([array.elements().checksum() for array in theirs])


class LaunchAlone(Action, msgspec.Struct, frozen=True, metaclass=AbstractStruct):
    """A kernel launched by a function with a gradient of its own. The arguments: values, the
    arrays, their checksums."""

    kernel: LaunchedKernel
    variant: Variant

    def replay(self, tape: Recording, arguments: tuple[Any, ...]) -> None:
        self._launch(arguments).run()

    def record(self, tape: Recording, arguments: tuple[Any, ...]) -> None:
        tape.launch(self._launch(arguments))

    def _launch(self, arguments: tuple[Any, ...]) -> Launch:
        *values, arrays, sums = arguments
        if checksums(arrays) != sums:
            raise TaichiRuntimeError(
                f"an array argument of kernel '{self.variant.kernel.name}' has changed since the "
                "step of a checkpointed loop first ran: pass a ti.ndarray, or a new array for "
                "each step"
            )
        return Launch(self.kernel, self.variant, tuple(values), arrays)


class WriteAgain(Action, msgspec.Struct, frozen=True, metaclass=AbstractStruct):
    """A write from Python: to an element, whose index comes first (`rank` integers), or to all;
    then what was written."""

    target: Target
    rank: int | None

    def _index(self, arguments: tuple[Any, ...]) -> Index | None:
        return None if self.rank is None else arguments[: self.rank]

    def replay(self, tape: Recording, arguments: tuple[Any, ...]) -> None:
        elements, written = memory_of(self.target)[1], arguments[-1]
        index = self._index(arguments)
        box = box_of(elements, index)
        if index is not None and isinstance(self.target, Field):
            self.target.activate(index)
        if isinstance(written, np.ndarray):
            elements.write(written, box)
        else:
            elements.fill(written, box)

    def record(self, tape: Recording, arguments: tuple[Any, ...]) -> None:
        tape.host_write(self.target, self._index(arguments))
        self.replay(tape, arguments)


class CopyAgain(Action, msgspec.Struct, frozen=True, metaclass=AbstractStruct):
    """A copy of one field to another."""

    target: Field
    source: Field

    def replay(self, tape: Recording, arguments: tuple[Any, ...]) -> None:
        self.target.find_memory().copy(self.source.find_memory())

    def record(self, tape: Recording, arguments: tuple[Any, ...]) -> None:
        tape.host_copy(self.target, self.source)
        self.replay(tape, arguments)


class TransferAgain(Action, msgspec.Struct, frozen=True, metaclass=AbstractStruct):
    """A transfer between memory. The arguments: the transfer and its number."""

    def replay(self, tape: Recording, arguments: tuple[Any, ...]) -> None:
        transfer, number = arguments
        transfer.agree(Pass.AGAIN, number, False)
        transfer.run(counts=False)

    def record(self, tape: Recording, arguments: tuple[Any, ...]) -> None:
        tape.transfer_again(*arguments)


class CallAgain(Action, msgspec.Struct, frozen=True, metaclass=AbstractStruct):
    """A call of a function with a gradient of its own: its arguments, its keywords, and what it
    did."""

    function: GivenGradient

    def replay(self, tape: Recording, arguments: tuple[Any, ...]) -> None:
        for action, inner in arguments[2]:
            action.replay(tape, inner)

    def record(self, tape: Recording, arguments: tuple[Any, ...]) -> None:

        def again(*args: object, **keywords: object) -> None:
            for action, inner in arguments[2]:
                action.record(tape, inner)

        tape.call_function(FunctionCall(self.function, again, *arguments[:2]))


class CurrentStep:
    """Actions with their arguments; a write from Python is one once it is written."""

    def __init__(self) -> None:
        self.actions: list[tuple[Action, tuple[Any, ...]]] = []
        self._writing: tuple[Target, Index | None] | None = None

    def take(self) -> list[tuple[Action, tuple[Any, ...]]]:
        """Return what was done; from now on, nothing."""
        actions, self.actions = self.actions, []
        return actions

    def do(self, action: Action, *arguments: object) -> None:
        """Something is done."""
        self.actions.append((action, arguments))

    def launch(self, launch: Launch) -> None:
        """A part of a kernel is launched."""
        if launch.arrays:
            self.do(LaunchOnArrays(launch.kernel, launch.variant), *launch.values, launch.arrays)
        else:
            self.do(LaunchAgain(launch.kernel, launch.variant), *launch.values)

    def launch_alone(self, launch: Launch) -> None:
        """A kernel is launched inside a function with a gradient of its own, or with none."""
        action, arrays = LaunchAlone(launch.kernel, launch.variant), launch.arrays
        self.do(action, *launch.values, arrays, checksums(arrays))

    def write(self, target: Target, index: Index | None) -> None:
        """Python is about to write."""
        self._writing = target, index

    def finish_write(self) -> None:
        """Note what Python wrote."""
        if self._writing is None:
            return
        (target, index), self._writing = self._writing, None
        elements = memory_of(target)[1]
        data = elements.read(box_of(elements, index))
        value = data.item() if data.size == 1 else data
        rank = None if index is None else len(index)
        self.do(WriteAgain(target, rank), *(index or ()), value)
