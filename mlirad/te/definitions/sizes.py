"""The sizes of a call: what the shapes of its arrays say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from mlirad.bindings import ir
from mlirad.errors import TaichiRuntimeTypeError, TaichiTypeError, located
from mlirad.ir.walk import constant_integer, owner_operation
from mlirad.lang.field.components import ComponentField
from mlirad.lang.field.field import Field
from mlirad.lang.field.field_group import FieldGroup
from mlirad.lang.ndarray import Ndarray
from mlirad.te.expressions import Call, Expr, Extent, Number, Size, in_order, shown_extent
from mlirad.te.graph import NUMBERS
from mlirad.te.places import place
from mlirad.te.tensor import Tensor
from mlirad.types import DataType, from_numpy

_NUMBERS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, c: a + c,
    "sub": lambda a, c: a - c,
    "mul": lambda a, c: a * c,
    "floordiv": lambda a, c: a // (c or 1),  # as in `te.emission`
    "mod": lambda a, c: a % (c or 1),
    "max": max,
    "min": min,
}


class Sizes:
    """The sizes that a function is called with, in the order in which it takes them.

    Raises TaichiTypeError for a size that no input has as an extent.
    """

    def __init__(self, inputs: Sequence[Tensor], names: Sequence[str]) -> None:
        self.inputs = inputs
        self.order: list[str] = list(names)
        found = {
            extent.name: (number, axis)
            for number, one in reversed(list(enumerate(inputs)))
            for axis, extent in reversed(list(enumerate(one.shape)))
            if isinstance(extent, Size)
        }
        for name in names:
            if name not in found:
                raise TaichiTypeError(
                    f"build: inputs: size {_bare(name)} is no extent of an input: a call cannot "
                    "know it",
                    place(),
                )
        self._found = found
        self._shapes = [known_shape(one.shape) for one in inputs]

    def of(self, function: str, arrays: Sequence[Any]) -> list[int]:
        """Those of some arrays. Raises TaichiRuntimeTypeError where an array does not fit."""
        if len(arrays) != len(self.inputs):
            raise refused(f"{function} takes {len(self.inputs)} arrays, not {len(arrays)}")
        known: dict[str, int] = {}
        for name, (number, axis) in self._found.items():
            shape = shape_of(arrays[number], function, self.inputs[number])
            if len(shape) == self.inputs[number].ndim:
                known[name] = shape[axis]
        for one, always, array in zip(self.inputs, self._shapes, arrays):
            wanted: tuple[int | None, ...] | None = always
            if wanted is None:
                wanted = tuple([_evaluated(extent, known) for extent in one.shape])
            self.check(function, one, array, wanted, is_given=True)
        return [known[name] for name in self.order]

    def shape(self, shape: Sequence[Extent], sizes: Sequence[int]) -> tuple[int, ...]:
        """A shape for some sizes."""
        known = dict(zip(self.order, sizes))
        found = [_evaluated(extent, known) for extent in shape]
        return tuple(extent for extent in found if extent is not None)

    def check(
        self,
        function: str,
        one: Tensor,
        array: Any,
        shape: tuple[int | None, ...],
        *,
        is_given: bool = False,
    ) -> None:
        """Raise TaichiRuntimeTypeError where an array is not of a shape, or of another type; those
        that are given may have integers of another one."""
        if type(array) is np.ndarray and array.shape == shape and array.dtype == one.dtype.numpy:
            return
        found = shape_of(array, function, one)
        if len(found) != len(shape) or any(
            wanted is not None and wanted != own for wanted, own in zip(shape, found)
        ):
            shown = ", ".join(
                str(k) if k is not None else shown_extent(e) for k, e in zip(shape, one.shape)
            )
            raise refused(
                f"{function}: '{one.name}' has the shape ({shown}), and was given an array of "
                f"shape {found}"
            )
        dtype = dtype_of(array, function, one)
        if dtype != one.dtype and not (is_given and are_integers(array, dtype, one.dtype)):
            raise refused(
                f"{function}: '{one.name}' is of type {one.dtype}, and was given an array of type "
                f"{dtype}"
            )


def are_integers(array: Any, dtype: DataType, wanted: DataType) -> bool:
    """Whether numbers of an array of NumPy's or torch's are integers, and other ones are needed."""
    is_ours = isinstance(array, Field | Ndarray)
    return not is_ours and all(one.is_integer and one.bits > 1 for one in (dtype, wanted))


def known_shape(shape: Sequence[Extent]) -> tuple[int, ...] | None:
    """A shape that every call has; None where sizes are part of it."""
    found = [_evaluated(extent, {}) for extent in shape]
    known = tuple(extent for extent in found if extent is not None)
    return known if len(known) == len(found) else None


def refused(why: str) -> TaichiRuntimeTypeError:
    """What is wrong with the arrays of a call, and where the call is."""
    return TaichiRuntimeTypeError(located(why, place()))


def shape_of(array: Any, function: str, one: Tensor) -> tuple[int, ...]:
    """The shape of the array for a tensor of a function. Raises TaichiRuntimeTypeError for none."""
    if isinstance(array, Field | Ndarray):
        return (*array.shape, *array.element_shape)
    shape = getattr(array, "shape", None)
    if not isinstance(shape, Sequence) or isinstance(array, FieldGroup | ComponentField):
        raise refused(
            f"{function}: '{one.name}': a {type(array).__name__} is no array, nor a field with a "
            "memory of its own"
        )
    return tuple(int(extent) for extent in shape)


def dtype_of(array: Any, function: str, one: Tensor) -> DataType:
    """The type of an array's elements; see `shape_of`. Raises TaichiRuntimeTypeError for what
    kernels have not."""
    dtype = getattr(array, "dtype", None)
    if isinstance(dtype, DataType):
        return dtype
    try:
        known = dtype if isinstance(dtype, np.dtype) else np.dtype(str(dtype).rpartition(".")[2])
        return from_numpy(known)
    except TypeError as error:
        why = f"{function}: '{one.name}' was given an array of type {dtype}: {error}"
        raise refused(why) from None


def _evaluated(extent: Extent, known: Mapping[str, int]) -> int | None:
    if isinstance(extent, int):
        return extent
    if isinstance(extent, Size):
        return known.get(extent.name)
    values: list[int | None] = []
    for step in _steps(extent):
        if isinstance(step, tuple):
            number, first, second = step
            left, right = values[first], values[second]
            values.append(None if left is None or right is None else number(left, right))
        else:
            values.append(step if isinstance(step, int) else known.get(step))
    return values[-1]


# a number, the name of a size, or what is computed of the values of two steps before
_Step = int | str | tuple[Callable[[int, int], int], int, int]


@lru_cache(1024)
def _steps(extent: Expr) -> list[_Step]:
    order = in_order(extent, lambda one: one.parts)
    places = {part: place for place, part in enumerate(order)}

    def step(part: Expr) -> _Step:
        if isinstance(part, Number | Size):
            return int(part.value) if isinstance(part, Number) else part.name
        assert isinstance(part, Call), part
        left, right = part.arguments
        return _NUMBERS[part.name], places[left], places[right]

    return list(map(step, order))


def evaluator(value: ir.Value, arguments: Mapping[ir.Value, int]) -> Callable[[Sequence[int]], int]:
    """An extent in a function's IR, as a function of the sizes that are its arguments."""
    known = constant_integer(value)
    if known is not None:
        return lambda sizes: known
    if value in arguments:
        position = arguments[value]
        return lambda sizes: sizes[position]
    op = owner_operation(value)
    if op.name == "arith.select":  # of a divisor that may be 0
        return evaluator(op.operands[2], arguments)
    parts = [evaluator(operand, arguments) for operand in op.operands]
    if op.name == "arith.index_cast":
        return parts[0]
    number, (left, right) = _NUMBERS[NUMBERS[op.name]], parts
    return lambda sizes: number(left(sizes), right(sizes))


def _bare(name: str) -> str:
    return name.partition(".")[0]
