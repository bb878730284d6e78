"""Between which numbers an index lies, as far as loops with known bounds and arithmetic tell."""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.ir.ops import Arith
from mlirad.ir.structured import Parallel, is_for, is_parallel
from mlirad.ir.walk import constant_integer, defining_op, owner_operation

Range = tuple[int, int]  # the least number, and the one behind the greatest

_CASTS = (Arith.INDEX_CAST, Arith.INDEX_CASTUI, Arith.EXTSI)
_WIDEST = 1 << 31  # casts to 32 bits keep what lies below


def index_range(value: ir.Value, depth: int = 12) -> Range | None:
    """The range of an integer that is an index of loops, or made of such; None where it is not
    known."""
    constant = constant_integer(value)
    if constant is not None:
        return constant, constant + 1
    op = defining_op(value)
    if op is None:
        return _of_loop(value)
    if depth == 0 or not op.name.startswith("arith.") or not len(op.operands):
        return None
    if op.name == Arith.SELECT:
        return _hull([index_range(choice, depth - 1) for choice in list(op.operands)[1:]])
    left = index_range(op.operands[0], depth - 1)
    if op.name in _CASTS:
        return left if left is not None and left[0] >= -_WIDEST and left[1] <= _WIDEST else None
    right = index_range(op.operands[1], depth - 1) if len(op.operands) == 2 else None
    if op.name in (Arith.REMUI, Arith.DIVUI):
        return _of_division(op.name, left, right)
    if left is None or right is None:
        return None
    if op.name == Arith.ADDI:
        return left[0] + right[0], left[1] + right[1] - 1
    if op.name == Arith.SUBI:
        return left[0] - right[1] + 1, left[1] - right[0]
    if op.name == Arith.MULI:
        ends = [a * b for a in (left[0], left[1] - 1) for b in (right[0], right[1] - 1)]
        return min(ends), max(ends) + 1
    return None


def _hull(ranges: list[Range | None]) -> Range | None:
    bounds = [bounds for bounds in ranges if bounds is not None]
    if len(bounds) < len(ranges):
        return None
    return min(low for low, _ in bounds), max(high for _, high in bounds)


def is_below(value: ir.Value, extent: int) -> bool:
    """Return whether an index is known to be one of `0 ... extent - 1`."""
    interval = index_range(value)
    return interval is not None and interval[0] >= 0 and interval[1] <= extent


def _of_division(name: str, left: Range | None, right: Range | None) -> Range | None:
    if right is None or right[1] != right[0] + 1 or right[0] <= 0:
        return None
    divisor, is_positive = right[0], left is not None and left[0] >= 0
    if name == Arith.REMUI:
        if left is not None and is_positive and left[1] <= divisor:
            return left
        return 0, divisor
    if left is None or not is_positive:
        return None
    return left[0] // divisor, (left[1] - 1) // divisor + 1


def _of_loop(value: ir.Value) -> Range | None:
    """The range of an argument of a block: the index of a loop whose bounds are known."""
    loop, number = owner_operation(value), ir.BlockArgument(value).arg_number
    if is_parallel(loop):
        box = Parallel(loop)
        bounds = box.lower[number], box.upper[number]
    elif is_for(loop) and number == 0:
        bounds = loop.operands[0], loop.operands[1]
    else:
        return None
    low, high = index_range(bounds[0]), index_range(bounds[1])
    return None if low is None or high is None else (low[0], max(low[0], high[1] - 1))
