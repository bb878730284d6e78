"""The contents of another library's differentiable function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from mlirad.errors import TaichiRuntimeError
from mlirad.types import DataType


class Port(Protocol):
    """An input or an output."""

    @property
    def dtype(self) -> DataType:
        """The type of its elements."""


class ArrayFunction(Protocol):
    """A function of arrays that knows its derivatives, which are such functions again."""

    __name__: str

    @property
    def inputs(self) -> Sequence[Port]:
        """The ports that take an array."""

    @property
    def outputs(self) -> Sequence[Port]:
        """The ports that give an array."""

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        """Call it: the outputs are written to the arrays that `out` lists."""

    def shapes(self, arrays: Sequence[Any]) -> list[tuple[int, ...]]:
        """Return the shapes of the outputs, by the shapes and types of arrays alone."""

    def reverse(self, numbers: Sequence[int]) -> ArrayFunction:
        """The adjoints of the inputs of some numbers: a function of the inputs, and of the adjoints
        of the outputs of floats."""

    def tangent(self, numbers: Sequence[int]) -> ArrayFunction:
        """The tangents of the outputs of floats: a function of the inputs, and of the tangents of
        the inputs of some numbers."""


def floats(ports: Sequence[Port]) -> list[int]:
    """The numbers of those that have derivatives."""
    return [number for number, port in enumerate(ports) if port.dtype.is_float]


def refuse_in_a_tape(recorder: object, name: str, library: str) -> None:
    """Raise TaichiRuntimeError if launches are recorded."""
    if recorder is not None:
        raise TaichiRuntimeError(
            f"{name}: a function of {library} was called in a tape or a forward mode, which "
            "cannot record it: call the function itself"
        )
