"""Functions of floats, each one op of the math dialect: elementwise on vectors and matrices, the
same in kernels and in Python scope. What is listed in `__all__` is public, as `ti.sin` and as
`ti.math.sin`."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from typing import Any

from mlirad.errors import TaichiTypeError
from mlirad.frontend.python.building.builder import current, emit, in_kernel, mlir_type
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.matrix_operators import Elementwise, Operand
from mlirad.frontend.python.values.scalar import Expr, Scalar
from mlirad.signatures import signature_of
from mlirad.types import promote

__all__ = [
    "acos",
    "asin",
    "atan2",
    "cos",
    "erf",
    "erfc",
    "exp",
    "log",
    "sin",
    "sqrt",
    "tan",
    "tanh",
]


_SAID = {
    "sin": "The sine of radians",
    "cos": "The cosine of radians",
    "tan": "The tangent of radians",
    "asin": "The angle in radians, from -π/2 to π/2, of a sine from -1 to 1",
    "acos": "The angle in radians, from 0 to π, of a cosine from -1 to 1",
    "atan2": "The angle of the point (x, y) in radians, from -π to π",
    "tanh": "The hyperbolic tangent",
    "erf": "The error function",
    "erfc": "`1 - erf(x)`, exact also where that is small",
    "exp": "The exponential function",
    "log": "The natural logarithm",
    "sqrt": "The square root",
    "rsqrt": "`1 / sqrt(x)`",
}


def mapped(function: Callable[..., Scalar], *arguments: Operand) -> Any:
    """Apply a scalar function, elementwise as soon as one argument has entries."""
    for argument in arguments:
        if isinstance(argument, Elementwise):
            return argument.map_with(function, *arguments)
    return function(*arguments)


def on_floats(name: str, python: Callable[..., float], takes: str = "x") -> Callable[..., Any]:
    """A function of floats, called as `takes` says; integers are converted to the default float
    type first."""
    count = len(takes.split(", "))

    def scalar(*arguments: Scalar) -> Scalar:
        if not in_kernel() and not any(isinstance(a, Expr) for a in arguments):
            return python(*arguments)
        dtype = reduce(promote, [ex.dtype_of(a) for a in arguments])
        if not dtype.is_float:
            dtype = current().default_fp
        return Expr(
            emit(name, mlir_type(dtype), [ex.cast(a, dtype).value for a in arguments]), dtype
        )

    def function(*arguments: Operand) -> Any:
        if len(arguments) != count:
            raise TaichiTypeError(
                f"{function.__name__} takes {count} argument{'s' * (count > 1)}, not "
                f"{len(arguments)}"
            )
        return mapped(scalar, *arguments)

    function.__signature__ = signature_of(f"{takes}, /")  # type: ignore[attr-defined]
    function.__name__ = function.__qualname__ = name.split(".")[1]
    function.__doc__ = (
        f"{_SAID.get(function.__name__, f'`{name}`')}, elementwise, in the type of the argument; "
        "integers become floats of the default type. Where it is not defined, it is NaN or "
        "infinite in kernels, and raises ValueError in Python scope. Raises TaichiTypeError for "
        "another number of arguments, and in kernels for what is no number, vector or matrix."
    )
    return function


sin = on_floats("math.sin", math.sin)
cos = on_floats("math.cos", math.cos)
tan = on_floats("math.tan", math.tan)
asin = on_floats("math.asin", math.asin)
acos = on_floats("math.acos", math.acos)
atan2 = on_floats("math.atan2", math.atan2, "y, x")
tanh = on_floats("math.tanh", math.tanh)
erf = on_floats("math.erf", math.erf)
erfc = on_floats("math.erfc", math.erfc)
exp = on_floats("math.exp", math.exp)
log = on_floats("math.log", math.log)
sqrt = on_floats("math.sqrt", math.sqrt)
rsqrt = on_floats("math.rsqrt", lambda x: 1.0 / math.sqrt(x))
