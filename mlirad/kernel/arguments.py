"""The types of a kernel's arguments: what a kernel is translated for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlirad.types import DataType


@dataclass(frozen=True)
class ScalarArgument:
    """A scalar passed at launch."""

    dtype: DataType


@dataclass(frozen=True)
class MatrixArgument:
    """A vector or matrix passed at launch, entry by entry."""

    dtype: DataType
    shape: tuple[int, ...]


@dataclass(frozen=True)
class NdarrayArgument:
    """An array passed at launch: index axes known in number, not in size."""

    dtype: DataType
    ndim: int
    element_shape: tuple[int, ...]
    needs_grad: bool
    boundary: str = "unsafe"
    is_cut: bool = False  # declared to carry no derivative


@dataclass(frozen=True)
class ConstantArgument:
    """Something that is part of the compiled kernel."""

    value: Any

    def __hash__(self) -> int:
        return id(self.value)


@dataclass(frozen=True)
class SameArgument:
    """The array that another parameter stands for too."""

    name: str


Argument = SameArgument | ScalarArgument | MatrixArgument | NdarrayArgument | ConstantArgument
