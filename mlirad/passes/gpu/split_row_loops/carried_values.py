"""Values that a serial loop carries, if threads may share its trips: sums, minima, and maxima, the
last two with companions that are replaced at the same time."""

from __future__ import annotations

import msgspec

from mlirad.analysis.lanes.lane_meetings import reduction_steps
from mlirad.bindings import ir
from mlirad.dialect.field import AtomicKind
from mlirad.ir import build as b
from mlirad.ir.marks.rounding import is_bound, rounds
from mlirad.ir.ops import Arith
from mlirad.ir.structured import For
from mlirad.ir.walk import block_operations, defining_op, owner_operation, users_of

_KINDS: dict[str, str] = {
    Arith.ADDF: AtomicKind.ADD,
    Arith.SUBF: AtomicKind.ADD,
    Arith.MULF: AtomicKind.MUL,
    Arith.ADDI: AtomicKind.ADD,
    Arith.SUBI: AtomicKind.ADD,
    Arith.MULI: AtomicKind.MUL,
    Arith.ANDI: AtomicKind.AND,
    Arith.ORI: AtomicKind.OR,
    Arith.XORI: AtomicKind.XOR,
    Arith.MINSI: AtomicKind.MIN,
    Arith.MAXSI: AtomicKind.MAX,
    Arith.MINUI: AtomicKind.MINU,
    Arith.MAXUI: AtomicKind.MAXU,
}
_TYPES = ("f32", "f64", "i32", "i64")  # that threads of a block combine
# Of a comparison of a kept number with another that lets the kept one stay: what extreme the kept
# one is, and whether it stays if they are equal.
_FLOATS = {
    b.OGT: (AtomicKind.MAX, False),
    b.OGE: (AtomicKind.MAX, True),
    b.OLT: (AtomicKind.MIN, False),
    b.OLE: (AtomicKind.MIN, True),
}
_INTEGERS = {
    b.SGT: (AtomicKind.MAX, False),
    b.SGE: (AtomicKind.MAX, True),
    b.SLT: (AtomicKind.MIN, False),
    b.SLE: (AtomicKind.MIN, True),
}
_OPPOSITE = {AtomicKind.MAX: AtomicKind.MIN, AtomicKind.MIN: AtomicKind.MAX}


class Sum(msgspec.Struct, frozen=True, eq=False):
    """A carried value that each trip combines with another, in any order."""

    position: int
    kind: str
    step: ir.Operation


class Extreme(msgspec.Struct, frozen=True, eq=False):
    """A carried number that a trip replaces by a greater or lesser one, with other carried values
    that it replaces at the same time."""

    position: int
    kind: str
    keeps_equal: bool  # the first one of equal numbers stays, not the last one
    condition: ir.Value
    stays_if: bool  # the condition for which the number stays
    other: ir.Value  # the number that may replace it
    companions: tuple[int, ...]


Carried = Sum | Extreme


def carried_values(nest: ir.Operation) -> list[Carried] | None:
    """The values that a serial loop carries; None if threads may not share its trips."""
    loop = For(nest)
    ends = list(block_operations(loop.body)[-1].operands)
    values: list[Carried] = []
    by_condition: dict[tuple[ir.Value, bool], list[int]] = {}
    for position, (carried, end) in enumerate(zip(loop.carried, ends)):
        steps = reduction_steps(carried, end)
        if steps:
            is_free = not any(rounds(step) and is_bound(step) for step in steps)
            if not is_free or str(end.type) not in _TYPES:
                return None
            values.append(Sum(position, _KINDS[steps[0].name], steps[0]))
            continue
        choice = defining_op(end)
        if choice is None or choice.name != Arith.SELECT:
            return None
        condition, *options = choice.operands
        if options.count(carried) != 1 or choice.block != loop.body or len(list(end.uses)) != 1:
            return None
        by_condition.setdefault((condition, options[0] == carried), []).append(position)
    for (condition, stays_if), positions in by_condition.items():
        extreme = _extreme(loop, ends, condition, stays_if, positions)
        if extreme is None:
            return None
        values.append(extreme)
    return values


def _extreme(
    loop: For, ends: list[ir.Value], condition: ir.Value, stays_if: bool, positions: list[int]
) -> Extreme | None:
    """The number that a condition compares, with all that the condition chooses."""
    test = defining_op(condition)
    if test is None or test.name not in (Arith.CMPF, Arith.CMPI) or test.block != loop.body:
        return None
    choices = {position: owner_operation(ends[position]) for position in positions}
    if set(users_of(condition)) != set(choices.values()):
        return None
    leading = None
    for position, choice in choices.items():
        users = set(users_of(loop.carried[position]))
        if users == {choice, test} and leading is None:
            leading = position
        elif users != {choice}:
            return None
    if leading is None or str(ends[leading].type) not in _TYPES:
        return None
    other = choices[leading].operands[2 if stays_if else 1]
    relation = _relation(test, loop.carried[leading], other)
    if relation is None:
        return None
    kind, keeps_equal = relation
    if not stays_if:
        kind, keeps_equal = _OPPOSITE[kind], not keeps_equal
    companions = tuple(position for position in positions if position != leading)
    return Extreme(leading, kind, keeps_equal, condition, stays_if, other, companions)


def _relation(
    test: ir.Operation, carried: ir.Value, other: ir.Value
) -> tuple[AtomicKind, bool] | None:
    """Return which extreme a carried number is if a test holds, and whether the other one may be
    equal."""
    relation = (_FLOATS if test.name == Arith.CMPF else _INTEGERS).get(b.predicate_of(test))
    if relation is None or set(test.operands) != {carried, other}:
        return None
    kind, may_be_equal = relation
    return (kind if test.operands[0] == carried else _OPPOSITE[kind]), may_be_equal
