"""Remember which iteration chose a value, instead of the value in every iteration.

A loop that carries a running maximum, or the value at the last place where a condition held, keeps
it or replaces it in each iteration. Its reverse needs the carried values only to decide again, and
gives the adjoint to the iteration that replaced the value last: no earlier iteration gets anything.
So the loop counts along in which iteration that was, in place of a stack of all values, and the
decisions of the reverse compare numbers of iterations. A reverse loop that does no more than to
add this adjoint somewhere becomes one addition.

Behind `differentiate-reverse`. The number is -1 if no iteration has replaced the value.
"""

from __future__ import annotations

import msgspec

from mlirad.analysis.linear import LinearForms
from mlirad.analysis.linear import number as linear_number
from mlirad.bindings import ir
from mlirad.dialect.field import AtomicKind, atomic_kind, is_atomic, is_load
from mlirad.dialect.grad import AllocOp, FreeOp, PopOp, PushOp
from mlirad.ir import build as b
from mlirad.ir.ops import Arith
from mlirad.ir.pure_operations import is_pure
from mlirad.ir.structured import For, is_for
from mlirad.ir.walk import (
    at_end,
    attributes_of,
    before,
    block_operations,
    clone,
    constant_integer,
    defining_op,
    enclosing,
    has_uses,
    is_zero,
    operations,
    users_of,
)

_COMPARISONS = (Arith.CMPF, Arith.CMPI)
_NEVER = -1  # the number of the iteration, if there is none


class _Choice(msgspec.Struct, frozen=True):
    """A carried value of a loop, and what its reverse loop makes of its adjoint."""

    stack: ir.Operation  # which keeps the value for each iteration
    push: ir.Operation
    pop: ir.Operation
    loop: For
    select: ir.Operation  # of the carried value or another one
    keeps: bool  # whether a true condition keeps the carried value
    reverse: For
    decision: ir.Operation  # the condition, in the reverse
    passed: ir.Operation  # the adjoint for the iteration before
    position: int  # of the adjoint among the carried values of the reverse


def track_choices(module: ir.Operation) -> None:
    """Replace stacks of values that a loop keeps or replaces by the number of the iteration that
    chose the value."""
    for op in [op for op in operations(module) if AllocOp.holds(op)]:
        choice = _choice_of(op)
        if choice is not None:
            _track(choice)


def _choice_of(stack: ir.Operation) -> _Choice | None:
    """Return the choice whose values a stack keeps, and nothing else."""
    users = users_of(stack.results[0])
    pushes, pops = (list(filter(view.holds, users)) for view in (PushOp, PopOp))
    if len(pushes) != 1 or len(pops) != 1 or len(users) - 2 != sum(map(FreeOp.holds, users)):
        return None
    push, pop = pushes[0], pops[0]
    loop, reverse = enclosing(push), enclosing(pop)
    if not is_for(loop) or not is_for(reverse) or loop.block != reverse.block or loop == reverse:
        return None
    return _matched(stack, push, pop, For(loop), For(reverse))


def _matched(
    stack: ir.Operation, push: ir.Operation, pop: ir.Operation, loop: For, reverse: For
) -> _Choice | None:
    value, _, number = push.operands
    if value not in loop.carried or number != loop.induction:
        return None
    if not _goes_backward(loop, reverse, pop.operands[1]):
        return None
    select = _select_of(block_operations(loop.body)[-1].operands[loop.carried.index(value)], value)
    condition = None if select is None else defining_op(select.operands[0])
    if select is None or condition is None or condition.name not in _COMPARISONS:
        return None
    users = set(users_of(value))
    if users != {push, select, condition} or value in select.operands[:1]:
        return None
    keeps = select.operands[1] == value
    decisions = users_of(pop.results[0])
    if len(decisions) != 1 or not _Equality(loop, pop).of(condition, decisions[0]):
        return None
    passed = _passed_adjoint(reverse, decisions[0], keeps)
    if passed is None:
        return None
    select_op, position = passed
    return _Choice(
        stack, push, pop, loop, select, keeps, reverse, decisions[0], select_op, position
    )


def _goes_backward(loop: For, reverse: For, number: ir.Value) -> bool:
    """Return whether a reverse loop comes to the iterations of a loop, from the last to the first,
    where a number says to which one."""
    bounds, reverse_bounds = (list(serial.op.operands)[:3] for serial in (loop, reverse))
    if bounds != reverse_bounds or [constant_integer(bounds[i]) for i in (0, 2)] != [0, 1]:
        return False
    forms = LinearForms()
    total = forms.form_of(number).plus(forms.form_of(reverse.induction))
    return total == forms.form_of(bounds[1]).plus(linear_number(-1))


def _select_of(value: ir.Value, carried: ir.Value) -> ir.Operation | None:
    """Return the operation that selects a carried value or another one."""
    op = defining_op(value)
    if op is None or op.name != Arith.SELECT:
        return None
    return op if list(op.operands[1:]).count(carried) == 1 else None


def _passed_adjoint(
    reverse: For, decision: ir.Operation, keeps: bool
) -> tuple[ir.Operation, int] | None:
    """Return the selection of the adjoint, or 0, that the next iteration of the reverse gets, and
    its position, if a decision decides nothing but who gets this adjoint."""
    selects = users_of(decision.results[0])
    yields = list(block_operations(reverse.body)[-1].operands)
    for position, adjoint in enumerate(reverse.carried):
        passed = defining_op(yields[position])
        if passed is not None and passed in selects and set(users_of(adjoint)) == set(selects):
            orders = [_order(op, adjoint) for op in selects]
            if None not in orders and all(
                order == (keeps == (op == passed)) for op, order in zip(selects, orders)
            ):
                return passed, position
    return None


def _order(op: ir.Operation, adjoint: ir.Value) -> bool | None:
    """Return whether an operation selects an adjoint if its condition is true, and 0 else; None
    for operations that do not select one of the two."""
    if op.name != Arith.SELECT or op.operands[0] == adjoint:
        return None
    first, second = op.operands[1:]
    if first == adjoint and is_zero(second):
        return True
    return False if second == adjoint and is_zero(first) else None


class _Equality:
    """Compares an iteration of a loop with the iteration of the reverse loop for it."""

    def __init__(self, loop: For, pop: ir.Operation) -> None:
        self.loop, self.number = loop, pop.operands[1]

    def of(self, op: ir.Operation, reverse_op: ir.Operation) -> bool:
        """Return whether two operations compute the same."""
        return (
            op.name == reverse_op.name
            and len(op.operands) == len(reverse_op.operands)
            and attributes_of(op) == attributes_of(reverse_op)
            and all(map(self._are_equal, op.operands, reverse_op.operands))
        )

    def _are_equal(self, value: ir.Value, reverse_value: ir.Value) -> bool:
        if value == self.loop.induction:
            return bool(reverse_value == self.number)
        op, reverse_op = defining_op(value), defining_op(reverse_value)
        if reverse_op is not None and PopOp.holds(reverse_op):
            return self._is_pushed(value, reverse_op)
        if value == reverse_value:
            return True
        if op is None or reverse_op is None or len(op.results) > 1:
            return False
        return (is_pure(op) or is_load(op)) and self.of(op, reverse_op)

    def _is_pushed(self, value: ir.Value, pop: ir.Operation) -> bool:
        """Return whether a value is what a pop gives for this iteration."""
        stack, number = pop.operands
        pushes = list(filter(PushOp.holds, users_of(stack)))
        if number != self.number or len(pushes) != 1:
            return False
        pushed, _, place = pushes[0].operands
        return bool(pushed == value and place == self.loop.induction)


def _track(choice: _Choice) -> None:
    """Carry the number of the last iteration that replaced the value, and decide by it."""
    last = _carry_last(choice)
    if _only_adds(choice):
        _add_once(choice, last)
    else:
        with before(choice.decision):
            kind = b.NE if choice.keeps else b.EQ
            decision = b.compare(kind, choice.pop.operands[1], last)
        choice.decision.results[0].replace_all_uses_with(decision)
        choice.decision.erase()
        choice.pop.erase()
    for user in users_of(choice.stack.results[0]):
        user.erase()
    choice.stack.erase()


def _carry_last(choice: _Choice) -> ir.Value:
    """Let the loop carry the number too, and return it."""
    loop, old = choice.loop, choice.loop.op
    choice.push.erase()
    with before(old):
        initial = [*list(old.operands)[3:], b.index(_NEVER)]
        lower, upper, step = list(old.operands)[:3]
        new = b.for_loop(lower, upper, step, initial)
    for name, attribute in attributes_of(old).items():
        new.op.attributes[name] = attribute
    for old_argument, argument in zip(loop.body.arguments, new.body.arguments):
        old_argument.replace_all_uses_with(argument)
    *ops, end = block_operations(loop.body)
    with ir.InsertionPoint(new.body), old.location:
        for op in ops:
            new.body.append(op)
        chosen = (new.carried[-1], new.induction)
        if_true, if_false = chosen if choice.keeps else chosen[::-1]
        number = b.select(choice.select.operands[0], if_true, if_false)
        b.yield_([*end.operands, number])
    for result, replacement in zip(old.results, new.op.results):
        result.replace_all_uses_with(replacement)
    old.erase()
    return new.op.results[-1]


def _only_adds(choice: _Choice) -> bool:
    """Return whether a reverse loop only adds the adjoint where the choice was made."""
    selects = users_of(choice.decision.results[0])
    adjoints = {op.results[0] for op in selects if op != choice.passed}
    for op in block_operations(choice.reverse.body)[:-1]:
        if is_atomic(op):
            is_sum = atomic_kind(op) == AtomicKind.ADD and not has_uses(op.results[0])
            if op.operands[0] not in adjoints or not is_sum:
                return False
        elif not (is_pure(op) or is_load(op) or op == choice.pop):
            return False
    return len(choice.reverse.carried) == 1


def _add_once(choice: _Choice, last: ir.Value) -> None:
    """Replace a reverse loop by what it does for the iteration that chose."""
    reverse = choice.reverse.op
    adjoint, number = list(reverse.operands)[3], choice.pop.operands[1]
    zero = next(v for v in choice.passed.operands[1:] if is_zero(v))
    with before(reverse):
        is_chosen = b.compare(b.NE, last, b.index(_NEVER))
        branch = b.if_else(is_chosen, [], with_else=False)
        left = b.select(is_chosen, zero, adjoint)
    values: dict[ir.Value, ir.Value] = {number: last}
    for select in users_of(choice.decision.results[0]):
        values[select.results[0]] = adjoint
    with at_end(branch.then, reverse.location):
        final = b.sub(list(reverse.operands)[1], b.index(1))
        values[choice.reverse.induction] = b.sub(final, last)
        for op in block_operations(choice.reverse.body)[:-1]:
            if is_atomic(op):
                _clone_with_operands(op, values)
        b.yield_()
    reverse.results[0].replace_all_uses_with(left)
    reverse.erase()


def _clone_with_operands(op: ir.Operation, values: dict[ir.Value, ir.Value]) -> None:
    """Clone an operation, and what it needs of its block."""
    for operand in op.operands:
        producer = defining_op(operand)
        if operand not in values and producer is not None and producer.block == op.block:
            _clone_with_operands(producer, values)
    clone(op, values)
