"""The types of a kernel's arguments: what a kernel is translated for."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from mlirad.kernel.axis_order import Layout
from mlirad.kernel.form import Form
from mlirad.types import DataType


class ValueArgument(msgspec.Struct, frozen=True):
    """A value passed at launch, scalar by scalar."""

    form: Form
    dtypes: tuple[DataType, ...]


class NdarrayArgument(msgspec.Struct, frozen=True):
    """An array passed at launch: index axes known in number, not in size. A `layout` names them as
    they lie in memory, the outermost first; None if they are in order."""

    dtype: DataType
    ndim: int
    element_shape: tuple[int, ...]
    needs_grad: bool
    layout: Layout | None = None
    boundary: str = "unsafe"
    is_cut: bool = False  # declared to carry no derivative


def gradient_of(array: NdarrayArgument) -> NdarrayArgument:
    """The gradient of an array, as an array that carries no derivative."""
    return replace(array, needs_grad=False, is_cut=True)


class ConstantArgument(msgspec.Struct, frozen=True):
    """Something that is part of the compiled kernel."""

    value: Any

    def __hash__(self) -> int:
        return id(self.value)


class SameArgument(msgspec.Struct, frozen=True):
    """The array that another parameter stands for too."""

    name: str


Argument = SameArgument | ValueArgument | NdarrayArgument | ConstantArgument
