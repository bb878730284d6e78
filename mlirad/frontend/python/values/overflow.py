"""Messages of `debug=True` where the result of integer arithmetic does not fit into its type. The
result wraps around, as without them."""

from __future__ import annotations

from collections.abc import Callable

from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.frontend.python.building import effects
from mlirad.frontend.python.building.builder import constant, current
from mlirad.frontend.python.building.open_regions import user_place
from mlirad.frontend.python.building.regions import if_op
from mlirad.frontend.python.values.shifts import shift_bits
from mlirad.ir import build
from mlirad.ir.ops import Arith
from mlirad.types import DataType

_NAMES = {"+": "Addition", "-": "Subtraction", "*": "Multiplication", "<<": "Shift left"}


def report_overflow(
    symbol: str, left: ir.Value, right: ir.Value, result: ir.Value, dtype: DataType
) -> None:
    """Print where `left + right` and its kin overflow, under `debug=True`."""
    builder = current()
    if not builder.debug or builder.custom is not None or not dtype.is_integer:
        return
    place = user_place(ir.Location.current)
    assert place is not None
    text = f'{_NAMES[symbol]} overflow detected in File "{place.file}", line {place.line}:\n'
    text = field.escape_braces(f"{text}{place.excerpt()}\n")
    overflows = _OVERFLOWS[symbol](left, right, result, dtype)
    if_op(overflows, lambda: effects.print_(text, []))


def _sum_overflows(left: ir.Value, right: ir.Value, result: ir.Value, dtype: DataType) -> ir.Value:
    """Return whether the result has the sign of neither operand; without signs, whether it is
    smaller."""
    if not dtype.is_signed:
        return build.compare(build.ULT, result, left)
    return _have_sign(_differ(left, result), _differ(right, result), dtype)


def _difference_overflows(
    left: ir.Value, right: ir.Value, result: ir.Value, dtype: DataType
) -> ir.Value:
    if not dtype.is_signed:
        return build.compare(build.ULT, left, right)
    return _have_sign(_differ(left, right), _differ(left, result), dtype)


def _product_overflows(
    left: ir.Value, right: ir.Value, result: ir.Value, dtype: DataType
) -> ir.Value:
    """Return whether the upper half of a product is more than its sign."""
    name = Arith.MULSI_EXTENDED if dtype.is_signed else Arith.MULUI_EXTENDED
    low, high = ir.Operation.create(name, [left.type, left.type], [left, right]).results
    if not dtype.is_signed:
        return build.compare(build.NE, high, constant(0, dtype))
    sign = build.shrsi(low, constant(dtype.bits - 1, dtype))
    return build.compare(build.NE, high, sign)


def _differ(left: ir.Value, right: ir.Value) -> ir.Value:
    return build.xori(left, right)


def _have_sign(left: ir.Value, right: ir.Value, dtype: DataType) -> ir.Value:
    common = build.andi(left, right)
    return build.compare(build.SLT, common, constant(0, dtype))


_OVERFLOWS: dict[str, Callable[[ir.Value, ir.Value, ir.Value, DataType], ir.Value]] = {
    "+": _sum_overflows,
    "-": _difference_overflows,
    "*": _product_overflows,
    # shifting back gives something else
    "<<": lambda left, right, result, dtype: build.compare(
        build.NE, shift_bits(">>", result, right, dtype), left
    ),
}
