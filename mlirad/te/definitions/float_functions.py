"""Functions of floats in tensor expressions, by their rows in the table of functions
(`ir/elementary/table.py`)."""

from __future__ import annotations

from collections.abc import Callable

from mlirad.ir.elementary.function import Function
from mlirad.signatures import signature_of
from mlirad.te.definitions.arguments import check_arguments
from mlirad.te.expressions import FLOAT, Call, Expr, Operand, as_float, common, expr


def of_floats(row: Function) -> Callable[..., Expr]:
    """A function of the table; integers are converted first."""

    def function(*arguments: Operand) -> Expr:
        operands = common([as_float(expr(argument, FLOAT)) for argument in arguments])
        return Call(operands[0].dtype, row.op or row.name, tuple(operands))

    function.__signature__ = signature_of(f"{row.parameters}, /")  # type: ignore[attr-defined]
    function.__annotations__ = dict.fromkeys(row.parameters.split(", "), Operand)
    function.__name__ = function.__qualname__ = row.name.removesuffix("even")
    function.__doc__ = (
        f"{row.sentence}. It takes an expression or a number, and the result has the type of the "
        "argument; integers are first converted to floats. If the function is not defined at the "
        "argument, the result is NaN or infinite.\n\nRaises:\n"
        "    TaichiTypeError: the number of arguments is wrong, or an argument is not a number."
    )
    return check_arguments(function)
