"""The recorder of launches, and of Python's reads and writes, while derivatives are taken."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import msgspec

from mlirad.lang.field.field import Field
from mlirad.lang.kernels.launch import Launch
from mlirad.lang.ndarray import Ndarray
from mlirad.lang.transfer import Transfer
from mlirad.runtime.memory.memory import Index

Target = Field | Ndarray


class GivenGradient(Protocol):
    """A Python function whose gradient is another function, or nothing."""

    __name__: str

    @property
    def grad(self) -> Callable[..., Any] | None:
        """The other function."""

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Call it."""


class FunctionCall(msgspec.Struct, frozen=True):
    """A call of such a function; `primal` is what it decorates."""

    function: GivenGradient
    primal: Callable[..., Any]
    args: tuple[Any, ...] = ()
    keywords: dict[str, Any] = {}

    def run(self) -> Any:
        """Call what is decorated."""
        return self.primal(*self.args, **self.keywords)


class Recorder(ABC):
    """A recorder of launches, and of Python's accesses to fields and ndarrays
    (`Threads.recorder`)."""

    @property
    def is_differentiating(self) -> bool:
        """Return whether derivatives are taken of what is done now: inside a function with a
        gradient of its own, or without one, they are not."""
        return True

    @property
    def follows_reads(self) -> bool:
        """Return whether each read by Python matters, used or not."""
        return False

    @property
    def validates(self) -> bool:
        """Return whether launches check Taichi's rule for accesses now."""
        return False

    @abstractmethod
    def launch(self, launch: Launch) -> Any:
        """Launch a kernel; what it returns."""

    @abstractmethod
    def launch_reverse(self, launch: Launch) -> None:
        """Launch the reverse of a kernel, as the program asks (`kernel.grad()`)."""

    @contextmanager
    def cutting(self) -> Iterator[None]:
        """Have what is launched and written within carry no derivative."""
        yield

    def empties_gradient(self, symbol: str) -> bool:
        """Return whether launches that deactivate cells of a field clear its gradient too, as
        memory that the program uses."""
        return False

    @abstractmethod
    def clear_gradients(self) -> None:
        """Python is about to set all gradients to 0."""

    @abstractmethod
    def result(self, launch: Launch) -> None:
        """A launch returns something to Python."""

    @abstractmethod
    def call_function(self, call: FunctionCall) -> Any:
        """Call a function with a gradient of its own, or with none."""

    @abstractmethod
    def host_read(self, target: Target) -> None:
        """Python reads."""

    @abstractmethod
    def host_write(self, target: Target, index: Index | None) -> None:
        """Python is about to write: to a place in memory (its first axes), or to everything."""

    @abstractmethod
    def host_copy(self, target: Field, source: Field) -> None:
        """Python is about to copy a field to another."""

    @abstractmethod
    def transfer(self, transfer: Transfer) -> None:
        """Carry out a linear map between memory."""

    @abstractmethod
    def finish_write(self) -> None:
        """Note that Python has finished a write."""

    @abstractmethod
    def close(self) -> None:
        """Record no more: the block of the recorder has ended, or was left."""
