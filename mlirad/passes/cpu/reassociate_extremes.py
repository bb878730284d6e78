"""Find the greatest or least number of a loop, and where it is, in any order.

    m = m0; k = k0                               m = the greatest of m0 and all x, or NaN
    for j: k = k if m > x[j] else j      ->      if m is NaN or 0: m, k = the loop as it is
           m = m if m > x[j] else x[j]           else: k = the last j with x[j] = m, or k0

A loop that compares and selects has an order: it forgets a NaN at the next number, and chooses
between 0 and -0 by their places. LLVM therefore runs it one number after another. If the result is
neither NaN nor 0, only the places of equal numbers depend on the order, and a second loop finds the
place. Both loops become vector code. This is exact, with any marks of rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from mlirad.analysis.linear import linear_form
from mlirad.analysis.trips import spans
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.ops import Arith, Math, Memref
from mlirad.ir.structured import For, is_for
from mlirad.ir.walk import at_end, before, block_operations, clone, defining_op, operations

_GREATER = {b.OGT: True, b.OGE: False, b.OLT: True, b.OLE: False}  # whether it is strict
_SAME = (Arith.NEGF, Math.ABSF)  # float ops that do not round
_LONG = 16  # trips: shorter loops are faster as they are
_FAR = 1 << 62  # an index that no loop has
_IN_ORDER = "field.in_order"  # of a loop that stays as it is


class _Extreme(NamedTuple):
    """A loop that carries the greatest, or least, number so far, and perhaps its place."""

    loop: For
    number: ir.Value  # compared with the one so far
    is_greatest: bool
    takes_last: bool  # of equal numbers
    position: int  # among the carried values
    place: int | None


def reassociate_extremes(module: ir.Operation) -> None:
    """Let loops that find the greatest or least of the elements of a row do so in any order."""
    for op in [op for op in operations(module) if is_for(op)]:
        may_be_one = 1 <= len(op.results) <= 2 and _IN_ORDER not in op.attributes
        extreme = _extreme_of(For(op)) if may_be_one else None
        if extreme is not None:
            _replace(extreme)


def _extreme_of(loop: For) -> _Extreme | None:
    *body, end = block_operations(loop.body)
    if spans(loop.op)[0].expected_trips < _LONG:
        return None
    if not all(_is_simple(op, loop.induction) for op in body):
        return None
    selects = [defining_op(value) for value in end.operands]
    if any(op is None or op.name != Arith.SELECT for op in selects):
        return None
    candidates = [_of_carried(loop, k) for k in range(len(selects))]
    extremes = [extreme for extreme in candidates if extreme is not None]
    return extremes[0] if len(extremes) == 1 else None


def _is_simple(op: ir.Operation, induction: ir.Value) -> bool:
    """Return whether an op is a read along a row, or does not round."""
    if op.name == Memref.LOAD:
        steps = [linear_form(index).coefficient(induction) for index in list(op.operands)[1:]]
        return not any(steps[:-1]) and steps[-1:] in ([], [0], [1])
    if op.name in (Arith.SELECT, Arith.CMPF, *_SAME):
        return True
    return op.name.startswith("arith.") and all(
        isinstance(value.type, ir.IndexType | ir.IntegerType)
        for value in (*op.operands, *op.results)
    )


def _of_carried(loop: For, position: int) -> _Extreme | None:
    """The extreme that a loop carries at a position, if it does."""
    so_far = loop.carried[position]
    ends = list(block_operations(loop.body)[-1].operands)
    choice = defining_op(ends[position])
    assert choice is not None
    test, first, second = choice.operands
    comparison = defining_op(test)
    if not isinstance(so_far.type, ir.F32Type | ir.F64Type) or so_far not in (first, second):
        return None
    number = second if first == so_far else first
    if comparison is None or comparison.name != Arith.CMPF or number == so_far:
        return None
    kind = b.predicate_of(comparison)
    if kind not in _GREATER or {*comparison.operands} != {so_far, number}:
        return None
    is_so_far_left = comparison.operands[0] == so_far
    is_left_greater = kind in (b.OGT, b.OGE)
    left_is_taken = (first == so_far) == is_so_far_left
    takes_number_if_equal = (number == second) == _GREATER[kind]
    uses = {use.owner.operation for use in so_far.uses}
    if uses != {choice, comparison}:
        return None
    place = None
    if len(ends) == 2:
        place = 1 - position
        if not _is_place(loop, place, choice, number):
            return None
    elif _users(comparison) != {choice}:
        return None
    greatest = is_left_greater == left_is_taken
    return _Extreme(loop, number, greatest, takes_number_if_equal, position, place)


def _users(op: ir.Operation) -> set[ir.Operation]:
    return {use.owner.operation for use in op.results[0].uses}


def _is_place(loop: For, place: int, choice: ir.Operation, number: ir.Value) -> bool:
    """Return whether a carried value is the index of the number that a choice took."""
    so_far, end = loop.carried[place], block_operations(loop.body)[-1].operands[place]
    select = defining_op(end)
    assert select is not None
    takes_second = choice.operands[2] == number
    expected = (so_far, loop.induction) if takes_second else (loop.induction, so_far)
    return (
        tuple(list(select.operands)[1:]) == expected
        and select.operands[0] == choice.operands[0]
        and {use.owner.operation for use in so_far.uses} == {select}
        and {use.owner.operation for use in choice.operands[0].uses} == {choice, select}
    )


def _replace(extreme: _Extreme) -> None:
    loop, position = extreme.loop, extreme.position
    initial = list(loop.op.operands)[3:]
    with before(loop.op):
        name = Arith.MAXIMUMF if extreme.is_greatest else Arith.MINIMUMF
        number = _loop_like(
            extreme,
            initial[position],
            lambda best, number, _: b.make(name, best.type, [best, number]),
        )
        in_order = b.compare_floats(b.UEQ, number, b.number(0.0, number.type))
        branch = b.if_else(in_order, [value.type for value in loop.op.results])
    for old, new in zip(list(loop.op.results), list(branch.op.results)):
        old.replace_all_uses_with(new)
    with at_end(branch.otherwise, loop.op.location):
        values = [number] * len(initial)
        if extreme.place is not None:
            values[extreme.place] = _place(extreme, number, initial)
        b.yield_(values)
    with at_end(branch.then, loop.op.location):
        b.yield_(list(loop.op.results))
    loop.op.move_before(block_operations(branch.then)[-1])
    loop.op.attributes[_IN_ORDER] = ir.UnitAttr.get()


def _place(extreme: _Extreme, extreme_number: ir.Value, initial: list[ir.Value]) -> ir.Value:
    """The first or last index of a number, of those that are equal; the initial one, if that is of
    a number that stays."""
    assert extreme.place is not None
    first = initial[extreme.place]
    none = b.index(-_FAR if extreme.takes_last else _FAR)
    name = Arith.MAXSI if extreme.takes_last else Arith.MINSI

    def nearer(place: ir.Value, number: ir.Value, index: ir.Value) -> ir.Value:
        is_equal = b.compare_floats(b.OEQ, number, extreme_number)
        return b.make(name, place.type, [place, b.select(is_equal, index, none)])

    place = _loop_like(extreme, none, nearer)
    stays = b.compare(b.EQ, place, none)
    if not extreme.takes_last:
        number = initial[extreme.position]
        stays = b.ori(stays, b.compare_floats(b.OEQ, number, extreme_number))
    return b.select(stays, first, place)


Step = Callable[[ir.Value, ir.Value, ir.Value], ir.Value]


def _loop_like(extreme: _Extreme, initial: ir.Value, step: Step) -> ir.Value:
    """A loop over the same numbers, each of which a step takes with its index."""
    old = extreme.loop
    lower, upper, stride = list(old.op.operands)[:3]
    new = b.for_loop(lower, upper, stride, [initial])
    with at_end(new.body, old.op.location):
        values: dict[ir.Value, ir.Value] = {old.induction: new.induction}
        needed = _ops_of(extreme)
        for op in block_operations(old.body):
            if op in needed:
                clone(op, values)
        number = values.get(extreme.number, extreme.number)
        b.yield_([step(new.carried[0], number, new.induction)])
    result: ir.Value = new.op.results[0]
    return result


def _ops_of(extreme: _Extreme) -> set[ir.Operation]:
    """The ops of a body that compute its number."""
    pending, ops = [extreme.number], set[ir.Operation]()
    while pending:
        op = defining_op(pending.pop())
        if op is not None and op.block == extreme.loop.body and op not in ops:
            ops.add(op)
            pending += op.operands
    return ops
