"""Functions of floats, by their rows in the table (`ir/elementary/table.py`): elementwise on
vectors and matrices, the same in kernels and in Python scope."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from mlirad.errors import TaichiTypeError
from mlirad.frontend.python.building.builder import current, in_kernel
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.matrix_operators import Elementwise, Operand
from mlirad.frontend.python.values.scalar import Expr, Scalar
from mlirad.ir.elementary.function import Function, value_of
from mlirad.signatures import signature_of
from mlirad.types import promote


def map_scalars(function: Callable[..., Scalar], *arguments: Operand) -> Any:
    """Apply a scalar function, elementwise as soon as one argument has entries."""
    for argument in arguments:
        if isinstance(argument, Elementwise):
            return argument.map_with(function, *arguments)
    return function(*arguments)


def on_floats(row: Function) -> Callable[..., Any]:
    """A function of the table; integers are converted to the default float type first."""

    def scalar(*arguments: Scalar) -> Scalar:
        if not in_kernel() and not any(isinstance(a, Expr) for a in arguments):
            return row.python(*arguments)
        dtype = reduce(promote, [ex.dtype_of(a) for a in arguments])
        if not dtype.is_float:
            dtype = current().default_fp
        operands = [ex.cast(a, dtype).value for a in arguments]
        return Expr(value_of(row, operands), dtype)

    def function(*arguments: Operand) -> Any:
        if len(arguments) != row.arity:
            raise TaichiTypeError(
                f"{row.name} takes {row.arity} argument{'s' * (row.arity > 1)}, got "
                f"{len(arguments)}"
            )
        return map_scalars(scalar, *arguments)

    function.__signature__ = signature_of(f"{row.parameters}, /")  # type: ignore[attr-defined]
    function.__name__ = function.__qualname__ = row.name
    function.__doc__ = (
        f"{row.sentence}, elementwise. The result has the type of the argument; integers "
        "are first converted to the default float type.\n\nRaises:\n"
        "    TaichiTypeError: the number of arguments is wrong, or in a kernel an argument is not "
        "a number, a vector or a matrix.\n"
        "    ValueError: in Python, the function is not defined at the argument. In a "
        "kernel, the result is NaN or infinite instead."
    )
    return function
