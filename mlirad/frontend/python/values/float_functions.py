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
                f"{row.name} takes {row.arity} argument{'s' * (row.arity > 1)}, not "
                f"{len(arguments)}"
            )
        return map_scalars(scalar, *arguments)

    function.__signature__ = signature_of(f"{row.parameters}, /")  # type: ignore[attr-defined]
    function.__name__ = function.__qualname__ = row.name
    function.__doc__ = (
        f"{row.sentence}, elementwise, in the type of the argument; "
        "integers become floats of the default type. Where it is not defined, it is NaN or "
        "infinite in kernels, and raises ValueError in Python scope. Raises TaichiTypeError for "
        "another number of arguments, and in kernels for what is no number, vector or matrix."
    )
    return function
