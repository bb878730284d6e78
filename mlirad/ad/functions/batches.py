"""A function of arrays over an axis of its arguments."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from mlirad.errors import TaichiTypeError
from mlirad.frontend.python.source.function import Function
from mlirad.lang.arguments.foreign_array import is_torch
from mlirad.lang.field.field import Field
from mlirad.lang.kernels.kernel import Kernel
from mlirad.lang.ndarray import Ndarray

Axes = int | None | Sequence[int | None]


def vmap(function: Callable[..., Any], in_axes: Axes = 0) -> Callable[..., Any]:
    """Return a function that calls `function` for each entry along an axis of its arguments, one
    after another, and stacks the results along a new first axis.

    k entries cost k calls. A single run of a program whose fields have an axis for the batch is
    faster (docs/transforms.md).

    Args:
        function: a function of arrays, such as `ti.ad.program(...)` or a function that
            `ti.ad.value_and_grad`, `grad`, `jacobian`, `jvp`, or `vjp` returns. Its results may be
            tuples.
        in_axes: the axis, or one for each argument. With None, every call gets the argument as it
            is. The arrays of a tuple, such as tangents of several inputs, share an axis.

    Returns:
        A function of the same arguments with the axis added. Its results have shape `(k, *shape)`
        for results of shape `shape`, and are of their type: NumPy arrays, or torch tensors.

    Raises:
        TaichiTypeError: `function` is a kernel or not a function. In a call: the axes have
            different lengths or length 0, an array does not have its axis, or `in_axes` has another
            number of axes than there are arguments.

    Example:
        `ti.ad.vmap(ti.ad.value_and_grad(run, inputs=x, output=loss))(rows)` returns the losses, of
        shape `(k,)`, and the gradients, of the shape of `rows`.
    """
    if isinstance(function, Kernel | Function) or not callable(function):
        raise TaichiTypeError(
            f"ti.ad.vmap takes a function of arrays, not a {type(function).__name__}: "
            "ti.ad.program(kernel, inputs=, output=) makes one of a kernel"
        )

    @wraps(function)
    def mapped(*arguments: Any) -> Any:
        axes = list(in_axes) if isinstance(in_axes, Sequence) else [in_axes] * len(arguments)
        if len(axes) != len(arguments):
            raise TaichiTypeError(f"in_axes has {len(axes)} axes for {len(arguments)} arguments")
        rows = [None if axis is None else _rows(a, axis) for a, axis in zip(arguments, axes)]
        lengths = {len(argument) for argument in rows if argument is not None}
        _check_lengths(lengths)
        calls = [
            [argument if row is None else row[k] for argument, row in zip(arguments, rows)]
            for k in range(lengths.pop())
        ]
        return _stacked([function(*call) for call in calls])

    return mapped


def _rows(argument: Any, axis: int) -> list[Any]:
    """Return an argument for each call: of a tuple of arrays, tuples."""
    if isinstance(argument, tuple):
        arrays = [_rows(array, axis) for array in argument]
        _check_lengths({len(array) for array in arrays})
        return list(zip(*arrays))
    array: Any = argument.to_numpy() if isinstance(argument, Field | Ndarray) else argument
    array = array if is_torch(array) else np.asarray(array)
    if not -array.ndim <= axis < array.ndim:
        raise TaichiTypeError(
            f"an argument of ti.ad.vmap of shape {tuple(array.shape)} has no axis {axis}"
        )
    moved = array.movedim(axis, 0) if is_torch(array) else np.moveaxis(array, axis, 0)
    return [row if is_torch(row) else np.asarray(row) for row in moved]


def _check_lengths(lengths: set[int]) -> None:
    if len(lengths) != 1 or 0 in lengths:
        raise TaichiTypeError(
            f"ti.ad.vmap maps over axes of one length, of at least 1, not {sorted(lengths)}"
        )


def _stacked(results: Sequence[Any]) -> Any:
    """Return the results of all calls, along a new first axis."""
    if isinstance(results[0], tuple):
        return tuple(_stacked(values) for values in zip(*results))
    if is_torch(results[0]):
        return sys.modules["torch"].stack(list(results))
    return np.stack(results)
