"""What runs kernels, as everything else sees it.

A second machine implements `Executor` and `Code` in a file beside this one, gives a `Memory` of its
own (`runtime/memory/memory.py`), and is named in `runtime/executor/choice.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from mlirad.bindings import ir
from mlirad.errors import TaichiAssertionError, TaichiRuntimeError
from mlirad.pipeline.mode import Mode
from mlirad.pipeline.stages.stage import Stage
from mlirad.runtime.config import Config
from mlirad.runtime.memory.memory import Memory
from mlirad.types import DataType


class Located(Protocol):
    """What has an address, which launches take."""

    @property
    def address(self) -> int:
        """Where it is."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a lowered kernel: a value of the launch, a field's pointer, or the pointer for
    results."""

    type: str
    symbol: str | None = None
    is_results: bool = False


@dataclass(frozen=True)
class Lowered:
    """A kernel at the last stage of its pipeline, and what its launches need to know."""

    module: ir.Module
    name: str
    parameters: Sequence[Parameter]
    results: Sequence[DataType] = ()
    messages: Sequence[str] = ()  # of assertions and checks
    failure: type[TaichiRuntimeError] = TaichiAssertionError  # what one that fails raises


class Executor(ABC):
    """A machine: its memory, and code for it."""

    memory: Memory

    @abstractmethod
    def stages(self, mode: Mode, config: Config) -> list[Stage]:
        """The pipeline to code of a mode, stage by stage."""

    @abstractmethod
    def compile(self, lowered: Lowered, find: Callable[[str], Located], config: Config) -> Code:
        """Code of a kernel; `find` gives the memory of a field by name, where code keeps its
        address."""


class Code(ABC):
    """Compiled code of one kernel, which any number of threads may launch."""

    checks: Sequence[str]  # the fields whose check bits launches take, behind the values
    messages: Sequence[str]

    @abstractmethod
    def launch(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Run with the values of this launch, in the order of the kernel's parameters; what the
        kernel returns.

        Arrays are the addresses of their elements. When this returns, the memory has what the
        launch wrote, for Python and for every later launch. Raises an error of the kind
        `Lowered.failure` where an assertion or a check failed.
        """

    @abstractmethod
    def ran_last_with(self, values: Sequence[Any]) -> bool:
        """Whether the launch that ended last had the same values."""
