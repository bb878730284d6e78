"""Find the greatest or least number of a loop, where it is, and what lies beside it, in any order.

    m = m0; k = k0                               m = the greatest of m0 and all x, or NaN
    for j: k = k if m > x[j] else j      ->      if m is NaN or 0: m, k = the loop as it is
           m = m if m > x[j] else x[j]           else: k = the last j with x[j] = m, or k0

A loop that compares and selects has an order: it forgets a NaN at the next number, and chooses
between 0 and -0 by their places. LLVM therefore runs it one number after another. If the result is
neither NaN nor 0, only the places of equal numbers depend on the order, and a second loop finds the
place. Both loops become vector code. Other values that are chosen with the number, as its tangent
is, are computed once, at its place. This is exact, with any marks of rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from mlirad.analysis.linear import linear_form
from mlirad.analysis.trips import spans
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.ops import Arith, Math, Memref
from mlirad.ir.pure_operations import is_pure
from mlirad.ir.structured import For, is_for
from mlirad.ir.walk import at_end, before, block_operations, clone, defining_op, operations

_GREATER = {b.OGT: True, b.OGE: False, b.OLT: True, b.OLE: False}  # whether it is strict
_SAME = (Arith.NEGF, Math.ABSF)  # float ops that do not round
_LONG = 16  # trips: shorter loops are faster as they are
_FAR = 1 << 62  # an index that no loop has
_IN_ORDER = "field.in_order"  # of a loop that stays as it is


class _Extreme(msgspec.Struct, frozen=True):
    """A loop that carries the greatest, or least, number so far, perhaps its place, and values that
    are chosen with it."""

    loop: For
    number: ir.Value  # compared with the one so far
    is_greatest: bool
    takes_last: bool  # of equal numbers
    position: int  # among the carried values
    place: int | None
    beside: dict[int, ir.Value]  # what an iteration has for other carried values

    @property
    def needs_place(self) -> bool:
        """Return whether more than the number is asked for."""
        return self.place is not None or bool(self.beside)


def reassociate_extremes(module: ir.Operation) -> None:
    """Let loops that find the greatest or least of the elements of a row do so in any order."""
    for op in [op for op in operations(module) if is_for(op)]:
        may_be_one = len(op.results) and _IN_ORDER not in op.attributes
        extreme = _extreme_of(For(op)) if may_be_one else None
        if extreme is not None:
            _replace(extreme)


def _extreme_of(loop: For) -> _Extreme | None:
    if spans(loop.op)[0].expected_trips < _LONG:
        return None
    *body, end = block_operations(loop.body)
    selects = [defining_op(value) for value in end.operands]
    if any(op is None or op.name != Arith.SELECT for op in selects):
        return None
    if not all(op.name == Memref.LOAD or is_pure(op) for op in body):
        return None
    candidates = [_of_carried(loop, k) for k in range(len(selects))]
    extremes = [extreme for extreme in candidates if extreme is not None]
    if len(extremes) != 1:
        return None
    ops = _ops_of(loop, [extremes[0].number])
    return extremes[0] if all(_is_simple(op, loop.induction) for op in ops) else None


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
    if uses != {choice, comparison} or not _is_of_iteration(loop, number):
        return None
    beside = {
        other: _value_beside(loop, other, choice, takes_second=number == second)
        for other in range(len(ends))
        if other != position
    }
    values = {other: value for other, value in beside.items() if value is not None}
    selects = {defining_op(end) for end in ends}
    if len(values) < len(beside) or _users(comparison) != selects:
        return None
    places = [other for other, value in values.items() if value == loop.induction]
    place = places[0] if places else None
    values.pop(-1 if place is None else place, None)
    greatest = is_left_greater == left_is_taken
    return _Extreme(loop, number, greatest, takes_number_if_equal, position, place, values)


def _users(op: ir.Operation) -> set[ir.Operation]:
    return {use.owner.operation for use in op.results[0].uses}


def _value_beside(
    loop: For, position: int, choice: ir.Operation, *, takes_second: bool
) -> ir.Value | None:
    """Return what a loop carries on from the iterations whose number a choice takes; None where it
    does anything else with a carried value."""
    so_far, end = loop.carried[position], block_operations(loop.body)[-1].operands[position]
    select = defining_op(end)
    assert select is not None
    test, first, second = select.operands
    unchanged, value = (first, second) if takes_second else (second, first)
    if test != choice.operands[0] or unchanged != so_far or value == so_far:
        return None
    if {use.owner.operation for use in so_far.uses} != {select}:
        return None
    return value if _is_of_iteration(loop, value) else None


def _is_of_iteration(loop: For, value: ir.Value) -> bool:
    """Return whether a value does not depend on other iterations."""
    carried = set(loop.carried)
    return not any(carried.intersection(op.operands) for op in _ops_of(loop, [value]))


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
        b.yield_(_values(extreme, number, initial))
    with at_end(branch.then, loop.op.location):
        b.yield_(list(loop.op.results))
    loop.op.move_before(block_operations(branch.then)[-1])
    loop.op.attributes[_IN_ORDER] = ir.UnitAttr.get()


def _values(extreme: _Extreme, number: ir.Value, initial: Sequence[ir.Value]) -> list[ir.Value]:
    """All that a loop carries at its end, of which the number is known."""
    values = [number] * len(initial)
    if not extreme.needs_place:
        return values
    place, stays = _place(extreme, number, initial[extreme.position])
    if extreme.place is not None:
        values[extreme.place] = b.select(stays, initial[extreme.place], place)
    if extreme.beside:
        positions = list(extreme.beside)
        branch = b.if_else(stays, [initial[position].type for position in positions])
        with ir.InsertionPoint(branch.then):
            b.yield_([initial[position] for position in positions])
        with ir.InsertionPoint(branch.otherwise):
            b.yield_(_copies(extreme.loop, list(extreme.beside.values()), place))
        for position, value in zip(positions, list(branch.op.results)):
            values[position] = value
    return values


def _place(extreme: _Extreme, number: ir.Value, initial: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The first or last index of a number, of those that are equal, and whether it is rather the
    initial one, which stays."""
    none = b.index(-_FAR if extreme.takes_last else _FAR)
    name = Arith.MAXSI if extreme.takes_last else Arith.MINSI

    def nearer(place: ir.Value, other: ir.Value, index: ir.Value) -> ir.Value:
        is_equal = b.compare_floats(b.OEQ, other, number)
        return b.make(name, place.type, [place, b.select(is_equal, index, none)])

    place = _loop_like(extreme, none, nearer)
    stays = b.compare(b.EQ, place, none)
    if not extreme.takes_last:
        stays = b.ori(stays, b.compare_floats(b.OEQ, initial, number))
    return place, stays


Step = Callable[[ir.Value, ir.Value, ir.Value], ir.Value]


def _loop_like(extreme: _Extreme, initial: ir.Value, step: Step) -> ir.Value:
    """A loop over the same numbers, each of which a step takes with its index."""
    old = extreme.loop
    lower, upper, stride = list(old.op.operands)[:3]
    new = b.for_loop(lower, upper, stride, [initial])
    with at_end(new.body, old.op.location):
        (number,) = _copies(old, [extreme.number], new.induction)
        b.yield_([step(new.carried[0], number, new.induction)])
    result: ir.Value = new.op.results[0]
    return result


def _copies(loop: For, values: Sequence[ir.Value], index: ir.Value) -> list[ir.Value]:
    """Values of an iteration, computed anew."""
    copies: dict[ir.Value, ir.Value] = {loop.induction: index}
    needed = _ops_of(loop, values)
    for op in block_operations(loop.body):
        if op in needed:
            clone(op, copies)
    return [copies.get(value, value) for value in values]


def _ops_of(loop: For, values: Sequence[ir.Value]) -> set[ir.Operation]:
    """The ops of a body that compute values."""
    pending, ops = list(values), set[ir.Operation]()
    while pending:
        op = defining_op(pending.pop())
        if op is not None and op.block == loop.body and op not in ops:
            ops.add(op)
            pending += op.operands
    return ops
