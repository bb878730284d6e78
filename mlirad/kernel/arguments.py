"""The types of a kernel's arguments: what a kernel is translated for."""

from __future__ import annotations

from typing import Any

from mlirad.data_classes import data_class, replace
from mlirad.kernel.form import Form
from mlirad.types import DataType


@data_class(frozen=True)
class ValueArgument:
    """A value passed at launch, scalar by scalar."""

    form: Form
    dtypes: tuple[DataType, ...]


@data_class(frozen=True)
class NdarrayArgument:
    """An array passed at launch: index axes known in number, not in size."""

    dtype: DataType
    ndim: int
    element_shape: tuple[int, ...]
    needs_grad: bool
    boundary: str = "unsafe"
    is_cut: bool = False  # declared to carry no derivative


def gradient_of(array: NdarrayArgument) -> NdarrayArgument:
    """The gradient of an array, as an array that carries no derivative."""
    return replace(array, needs_grad=False, is_cut=True)


@data_class(frozen=True)
class ConstantArgument:
    """Something that is part of the compiled kernel."""

    value: Any

    def __hash__(self) -> int:
        return id(self.value)


@data_class(frozen=True)
class SameArgument:
    """The array that another parameter stands for too."""

    name: str


Argument = SameArgument | ValueArgument | NdarrayArgument | ConstantArgument
