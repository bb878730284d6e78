"""The sizes of a call: what the shapes of its arrays say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from mlirad.bindings import ir
from mlirad.errors import TaichiRuntimeTypeError, TaichiTypeError, located
from mlirad.ir.ops import Arith
from mlirad.ir.walk import constant_integer, owner_operation
from mlirad.lang.field.components import ComponentField
from mlirad.lang.field.field import Field
from mlirad.lang.field.field_group import FieldGroup
from mlirad.lang.ndarray import Ndarray
from mlirad.te.expressions import Call, Expr, Extent, Number, Size, shown_extent
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
        positions = {
            extent.name: (number, axis)
            for number, tensor in reversed(list(enumerate(inputs)))
            for axis, extent in reversed(list(enumerate(tensor.shape)))
            if isinstance(extent, Size)
        }
        for name in names:
            if name not in positions:
                raise TaichiTypeError(
                    f"build: inputs: size {_bare(name)} is not an extent of an input: a call "
                    "cannot determine it",
                    place(),
                )
        self._found = positions
        self._shapes = [known_shape(tensor.shape) for tensor in inputs]

    def of_arrays(self, function: str, arrays: Sequence[Any]) -> list[int]:
        """Return the sizes of arrays. Raises TaichiRuntimeTypeError if an array does not fit."""
        if len(arrays) != len(self.inputs):
            raise array_error(f"{function} takes {len(self.inputs)} arrays, got {len(arrays)}")
        sizes: dict[str, int] = {}
        for name, (number, axis) in self._found.items():
            shape = shape_of(arrays[number], function, self.inputs[number])
            if len(shape) == self.inputs[number].ndim:
                sizes[name] = shape[axis]
        for tensor, always, array in zip(self.inputs, self._shapes, arrays):
            expected: tuple[int | None, ...] | None = always
            if expected is None:
                expected = tuple([_evaluate(extent, sizes) for extent in tensor.shape])
            self.check(function, tensor, array, expected, is_given=True)
        return [sizes[name] for name in self.order]

    def shape(self, shape: Sequence[Extent], sizes: Sequence[int]) -> tuple[int, ...]:
        """A shape for some sizes."""
        values = dict(zip(self.order, sizes))
        extents = [_evaluate(extent, values) for extent in shape]
        return tuple(extent for extent in extents if extent is not None)

    def check(
        self,
        function: str,
        tensor: Tensor,
        array: Any,
        shape: tuple[int | None, ...],
        *,
        is_given: bool = False,
    ) -> None:
        """Raise TaichiRuntimeTypeError if an array is not of a shape, or of another type; those
        that are given may have integers of another one."""
        if type(array) is np.ndarray and array.shape == shape and array.dtype == tensor.dtype.numpy:
            return
        actual = shape_of(array, function, tensor)
        if len(actual) != len(shape) or any(
            expected is not None and expected != extent for expected, extent in zip(shape, actual)
        ):
            extents = ", ".join(
                str(k) if k is not None else shown_extent(e) for k, e in zip(shape, tensor.shape)
            )
            raise array_error(
                f"{function}: '{tensor.name}' has shape ({extents}), but got an array of shape "
                f"{actual}"
            )
        dtype = dtype_of(array, function, tensor)
        if dtype != tensor.dtype and not (is_given and are_integers(array, dtype, tensor.dtype)):
            raise array_error(
                f"{function}: '{tensor.name}' has type {tensor.dtype}, but got an array of type "
                f"{dtype}"
            )


def are_integers(array: Any, dtype: DataType, expected: DataType) -> bool:
    """Return whether numbers of an array of NumPy's or torch's are integers, and other ones are
    needed."""
    is_ours = isinstance(array, Field | Ndarray)
    return not is_ours and all(type_.is_integer and type_.bits > 1 for type_ in (dtype, expected))


def known_shape(shape: Sequence[Extent]) -> tuple[int, ...] | None:
    """A shape that every call has; None if sizes are part of it."""
    extents = [_evaluate(extent, {}) for extent in shape]
    numbers = tuple(extent for extent in extents if extent is not None)
    return numbers if len(numbers) == len(extents) else None


def array_error(why: str) -> TaichiRuntimeTypeError:
    """Return the error for the arrays of a call, with the place of the call."""
    return TaichiRuntimeTypeError(located(why, place()))


def shape_of(array: Any, function: str, tensor: Tensor) -> tuple[int, ...]:
    """The shape of the array for a tensor of a function. Raises TaichiRuntimeTypeError for none."""
    if isinstance(array, Field | Ndarray):
        if isinstance(array, Ndarray) and array.layout is not None:
            raise array_error(
                f"{function}: '{tensor.name}' got an ndarray with layout {array.layout}: tensor "
                "functions need axes in order; copy it to such an ndarray by copy_from"
            )
        return (*array.shape, *array.element_shape)
    shape = getattr(array, "shape", None)
    if not isinstance(shape, Sequence) or isinstance(array, FieldGroup | ComponentField):
        raise array_error(
            f"{function}: '{tensor.name}': expected an array, or a field with its own memory, "
            f"got {type(array).__name__}"
        )
    return tuple(int(extent) for extent in shape)


def dtype_of(array: Any, function: str, tensor: Tensor) -> DataType:
    """The type of an array's elements; see `shape_of`. Raises TaichiRuntimeTypeError for what
    kernels have not."""
    dtype = getattr(array, "dtype", None)
    if isinstance(dtype, DataType):
        return dtype
    try:
        name = dtype if isinstance(dtype, np.dtype) else str(dtype).rpartition(".")[2]
        return from_numpy(np.dtype(name))
    except TypeError as error:
        why = f"{function}: '{tensor.name}' was given an array of type {dtype}: {error}"
        raise array_error(why) from None


def _evaluate(extent: Extent, sizes: Mapping[str, int]) -> int | None:
    if isinstance(extent, int):
        return extent
    if isinstance(extent, Size):
        return sizes.get(extent.name)
    values: list[int | None] = []
    for step in _steps(extent):
        if isinstance(step, tuple):
            number, first, second = step
            left, right = values[first], values[second]
            values.append(None if left is None or right is None else number(left, right))
        else:
            values.append(step if isinstance(step, int) else sizes.get(step))
    return values[-1]


# a number, the name of a size, or what is computed of the values of two steps before
_Step = int | str | tuple[Callable[[int, int], int], int, int]


@lru_cache(1024)
def _steps(extent: Expr) -> list[_Step]:
    order = extent.nodes()
    places = {node: place for place, node in enumerate(order)}

    def step(node: Expr) -> _Step:
        if isinstance(node, Number | Size):
            return int(node.value) if isinstance(node, Number) else node.name
        assert isinstance(node, Call), node
        left, right = node.arguments
        return _NUMBERS[node.name], places[left], places[right]

    return list(map(step, order))


def evaluator(value: ir.Value, arguments: Mapping[ir.Value, int]) -> Callable[[Sequence[int]], int]:
    """An extent in a function's IR, as a function of the sizes that are its arguments."""
    constant = constant_integer(value)
    if constant is not None:
        return lambda sizes: constant
    if value in arguments:
        position = arguments[value]
        return lambda sizes: sizes[position]
    op = owner_operation(value)
    if op.name == Arith.SELECT:  # of a divisor that may be 0
        return evaluator(op.operands[2], arguments)
    operands = [evaluator(operand, arguments) for operand in op.operands]
    if op.name == Arith.INDEX_CAST:
        return operands[0]
    number, (left, right) = _NUMBERS[NUMBERS[op.name]], operands
    return lambda sizes: number(left(sizes), right(sizes))


def _bare(name: str) -> str:
    return name.partition(".")[0]
