"""The interface of executors, which run kernels.

A second machine implements `Executor` and `Code` in a file beside this one, gives a `Memory` of its
own (`runtime/memory/memory.py`), and is named in `runtime/executors.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import msgspec

from mlirad.bindings import ir
from mlirad.errors import TaichiAssertionError, TaichiRuntimeError
from mlirad.ir.reports.message import Message
from mlirad.ir.signature import FieldAddress, Signature
from mlirad.pipeline.mode import Mode
from mlirad.pipeline.stages.stage import Stage
from mlirad.runtime.config import Config
from mlirad.runtime.memory.deferred_writes import NO_NOTES, Backlog, LaterWrites, RowNotes
from mlirad.runtime.memory.memory import Memory
from mlirad.runtime.memory.values import Values
from mlirad.types import DataType


class UnavailableError(TaichiRuntimeError):
    """A machine that this computer does not have, or cannot use; the message says why."""


class Addressable(Protocol):
    """An object with an address, which launches take."""

    @property
    def address(self) -> int:
        """Return the address."""


class PassedArray(Addressable, Protocol):
    """An array argument of a launch."""

    @property
    def dims(self) -> tuple[int, ...]:
        """The extents."""

    @property
    def host(self) -> Values | None:
        """The array of Python's that it is, where its address is one of the host's."""

    def adjoint(self) -> PassedArray:
        """The adjoint. Raises TaichiRuntimeError if there is none."""

    def tangent(self, number: int) -> PassedArray:
        """The tangents in one direction. Raises TaichiRuntimeError if there can be none."""


class LastingArrays(tuple[PassedArray, ...]):
    """Arrays that stay where they are, and as large: code that was launched with them last has
    their addresses."""

    __slots__ = ()


class LaunchMemory(Protocol):
    """The memory that code reaches without being passed it."""

    def field(self, symbol: str) -> Addressable:
        """Return the address of a field; if it moves, `Backlog.moves` grows."""

    def check_bits(self, symbol: str) -> Addressable:
        """A byte for each element of a field, of the calling thread."""

    @property
    def backlog(self) -> Backlog:
        """The arrays that have deferred writes."""

    def deferred_writes(self, symbol: str) -> LaterWrites | None:
        """Return the deferred writes to a field, as long as the code is launched; None if there are
        never any."""


class Origin(Enum):
    """The origin of the machine code of a kernel."""

    CACHE = "compiled by an earlier process or program"
    STORED = "compiled, and stored for later processes"
    COMPILED = "compiled, and not kept"


class KeptCode(NamedTuple):
    """Machine code of a kernel that an earlier process made, and where this one keeps what it
    makes, if anywhere."""

    binary: bytes | None = None
    keep: Callable[[bytes], None] | None = None

    @property
    def origin(self) -> Origin:
        """Return where the code comes from that is compiled with this."""
        if self.binary is not None:
            return Origin.CACHE
        return Origin.COMPILED if self.keep is None else Origin.STORED


NOT_KEPT = KeptCode()


LoopTime = tuple[str, float]  # a loop's name, and milliseconds


class LaunchTimer(ABC):
    """Times launches, one after the other: `turn` is held around each."""

    turn: Any

    @abstractmethod
    def begin(self) -> None:
        """A launch comes."""

    @abstractmethod
    def end(self, names: Mapping[int, str]) -> tuple[float, list[LoopTime]] | None:
        """The milliseconds that it took, and those of its loops, by the names that its parts have;
        None if it had none."""


class LoweredKernel(msgspec.Struct, frozen=True, dict=True):
    """A kernel at the last stage of its pipeline, and what its launches need to know."""

    lower: Callable[[], ir.Module]  # which need not be done where the code is found
    name: str
    signature: Signature
    results: Sequence[DataType] = ()
    messages: Sequence[Message] = ()  # of assertions and checks
    failure: type[TaichiRuntimeError] = TaichiAssertionError  # what one that fails raises
    code: KeptCode = NOT_KEPT
    row_notes: RowNotes = NO_NOTES
    title: str = ""  # what tables and debuggers call this mode of the kernel

    @cached_property
    def module(self) -> ir.Module:
        """The module, at the last stage."""
        return self.lower()

    @property
    def fields(self) -> Sequence[str]:
        """The fields whose addresses the code keeps."""
        labels = [parameter.label for parameter in self.signature]
        return [label.symbol for label in labels if isinstance(label, FieldAddress)]


class Executor(ABC):
    """A machine: its memory, and code for it."""

    memory: Memory
    is_synchronous = True  # launches have ended when they return

    @abstractmethod
    def stages(self, mode: Mode, config: Config, *, keeps: bool = False) -> list[Stage]:
        """The pipeline to code of a mode, stage by stage; of a kernel that `keeps` values, as
        reverses do."""

    @abstractmethod
    def compile(self, lowered: LoweredKernel, memory: LaunchMemory, config: Config) -> Code:
        """Code of a kernel."""

    @abstractmethod
    def synchronize(self) -> None:
        """Wait for launches, of a machine whose launches may go on when they have returned.

        Raises TaichiRuntimeError for what failed meanwhile.
        """

    def timer(self) -> LaunchTimer | None:
        """Return the timer of launches on this executor; None if a clock of the host times them."""
        return None

    def copy_rate(self) -> float | None:
        """Bytes that the machine's memory reads and writes in a second, together, where that is
        measured."""
        return None

    def begin_sequence(self) -> None:
        """Launches that come now, until `end_sequence`, may come again in the same order, which a
        machine may have a faster way for; sequences lie inside one another."""

    def end_sequence(self) -> None:
        """All launches are on their way."""


class Code(ABC):
    """Compiled code of one kernel, which any number of threads may launch."""

    messages: Sequence[Message]

    def loop_names(self) -> Mapping[int, str]:
        """The names of loops, by what a `LaunchTimer` knows them by."""
        return {}

    @abstractmethod
    def launch(self, values: Sequence[Any], arrays: Sequence[PassedArray] = ()) -> tuple[Any, ...]:
        """Run with the arguments of a launch; what the kernel returns.

        `values` has one for each argument, by its number (see `ir/signature.py`), of which those of
        arrays are not looked at; `arrays` are the arrays among them. When this returns, memory has
        what the launch wrote, for Python and for every later launch. Raises an error of the kind
        `LoweredKernel.failure` where an assertion or a check failed.
        """

    @abstractmethod
    def ran_last_with(self, values: Sequence[Any], arrays: Sequence[PassedArray] = ()) -> bool:
        """Return whether the launch that ended last had the same arguments."""
