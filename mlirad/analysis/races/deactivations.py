"""Accesses of other iterations that a deactivation may come before or after, with one outcome.

Deactivating a cell again changes nothing: what lies in it is 0, and not active. So iterations of a
parallel loop may deactivate one cell, and a value may be read from a cell, before or behind another
iteration's deactivation of it, that only decides whether the cell is deactivated:

    for i in x:
        if x[i] < 0.1:
            ti.deactivate(block, [i // 8])

`lower-activity` marks the accesses that deactivations are made of.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from mlirad.analysis.linear import CASTS, Linear, LinearForms
from mlirad.bindings import ir
from mlirad.dialect.activity import blocks_by_activity, deactivates, deactivates_cell
from mlirad.dialect.field import GetOp, is_load, is_report, is_write, split_access
from mlirad.dialect.field_layout import Digits, Kind, activities_of, path_to, read_block
from mlirad.dialect.snode import module_of, place_of, trees_around
from mlirad.ir.graph import Node
from mlirad.ir.ops import Arith, Scf
from mlirad.ir.pure_operations import is_arithmetic
from mlirad.ir.structured import is_branch, is_for, is_parallel
from mlirad.ir.walk import (
    Array,
    ancestors,
    array_root,
    block_operations,
    constant_integer,
    defining_op,
    enclosing,
    function_of,
    operations,
)

_SERIALIZE = "put ti.loop_config(serialize=True) before the loop"
_ASIDE = "note in a field which cells are to be deactivated, and do that in a loop of its own"
_ELSEWHERE = f"{_SERIALIZE} if it does not go over active elements, or write to another field"
_QUOTIENTS = (Arith.DIVUI, Arith.FLOORDIVSI)
_SHIFTS = (Arith.SHRUI, Arith.SHRSI)

Quotient = tuple[Linear[ir.Value], int]  # a sum, and what it is divided by


class Deactivations:
    """Answers for the accesses of one function."""

    def __init__(self) -> None:
        self._forms = LinearForms()
        self._known: dict[Node, set[Array] | None] = {}

    def agree(self, node: Node, write: Node) -> bool:
        """Return whether it makes no difference which of two accesses comes first: a read and a
        write."""
        if not deactivates(write.op) or not is_load(node):
            return False
        if deactivates(node.op):
            return True
        if node not in self._known:
            self._known[node] = self._decided_activities(node.op)
        decided = self._known[node]
        return decided is not None and _lie_in(decided, _block_of(write.op))

    def _decided_activities(self, read: ir.Operation) -> set[Array] | None:
        """The activities of the blocks of which a value that is read only decides whether the cell
        that it was read from is deactivated; None where it does more."""
        waiting, visited, decided = [read.results[0]], set[ir.Value](), set[Array]()
        while waiting:
            value = waiting.pop()
            if value in visited:
                continue
            visited.add(value)
            for use in value.uses:
                op = use.owner.operation
                if op.name == Scf.YIELD and is_branch(enclosing(op)):
                    op = enclosing(op)
                elif is_branch(op) and all(
                    self._fits(read, cell_read) for cell_read in _effects(op)
                ):
                    decided |= {array_root(split_access(cell_read)[0]) for cell_read in _cells(op)}
                elif not is_arithmetic(op):
                    return None
                waiting += op.results
        return decided

    def _fits(self, read: ir.Operation, effect: ir.Operation) -> bool:
        """Return whether an effect belongs to a deactivation, of the cell that was read from where
        it sets the cell's activity."""
        return deactivates(effect) and (
            not deactivates_cell(effect) or self._is_cell_of(read, effect)
        )

    def _is_cell_of(self, read: ir.Operation, store: ir.Operation) -> bool:
        """Return whether an element lies in the cell that a store makes inactive."""
        (array, element), (activity, cell) = split_access(read), split_access(store)
        digits = _digits(module_of(read), array_root(array), array_root(activity))
        return len(digits) == len(cell) > 0 and all(
            self._quotient(element[digit.axis], digit.width) == self._quotient(index, 1)
            for digit, index in zip(digits, cell)
        )

    def _quotient(self, value: ir.Value, divisor: int) -> Quotient:
        """An index that is not negative, divided further."""
        op = defining_op(value)
        while op is not None and op.name in (*CASTS, *_QUOTIENTS, *_SHIFTS):
            if op.name not in CASTS:
                constant = constant_integer(op.operands[1])
                if constant is None or constant <= 0:
                    break
                divisor *= constant if op.name in _QUOTIENTS else 1 << constant
            value = op.operands[0]
            op = defining_op(value)
        form = self._forms.form_of(value)
        if all(factor % divisor == 0 for _, factor in form.terms):
            terms = frozenset((name, factor // divisor) for name, factor in form.terms)
            return Linear(terms, form.constant // divisor), 1
        return form, divisor


def _effects(branch: ir.Operation) -> Iterator[ir.Operation]:
    """The ops in a branch that may change anything."""
    for op in operations(branch):
        is_plain = is_arithmetic(op) or op.name == Scf.YIELD or GetOp.holds(op)
        if not (is_plain or is_branch(op) or is_for(op) or is_report(op) or is_load(op)):
            yield op


def _cells(branch: ir.Operation) -> Iterator[ir.Operation]:
    """The stores in a branch to the activity of a cell that is deactivated."""
    return (op for op in _effects(branch) if deactivates_cell(op))


def _block_of(write: ir.Operation) -> ir.Operation | None:
    """The block of which a write deactivates a cell: the cell's activity is set with it."""
    function = function_of(write)
    for op in takewhile(lambda op: op != function, (write, *ancestors(write))):
        for other in block_operations(op.block):
            if is_write(other) and deactivates_cell(other):
                blocks = blocks_by_activity(module_of(write))
                return blocks.get(str(array_root(split_access(other)[0])))
    return None


def _lie_in(activities: set[Array], outer: ir.Operation | None) -> bool:
    """Return whether the blocks with some activities lie in another one, or are it."""
    if outer is None:
        return False
    blocks = blocks_by_activity(module_of(outer))
    places = [blocks.get(str(activity)) for activity in activities]
    return all(
        place is not None and (place == outer or outer in trees_around(place)) for place in places
    )


def cure(access: Node, also: str = "") -> str:
    """Return the cure for a parallel loop whose iterations meet in an access, and the alternative,
    if the loop changes no activity. A loop over active elements that does cannot be serial."""
    loop = next(owner for owner in access.owners if is_parallel(owner))
    effects = [node for node in loop.walk() if is_write(node)]
    if any(deactivates(node.op) for node in effects):
        return _ASIDE
    activities = blocks_by_activity(module_of(loop.op))
    if any(node.array in activities for node in effects):
        return _ELSEWHERE
    return _SERIALIZE + also


def _digits(module: ir.Operation, array: Array, activity: Array) -> tuple[Digits, ...]:
    """The cell of the block with an activity that an element of an array lies in, as parts of its
    index; nothing where it lies in none."""
    if not isinstance(array, str):
        return ()
    block = blocks_by_activity(module).get(array)
    place = place_of(module, array)
    if block is not None:
        block_digits = read_block(block)
        path = [*path_to(block), *([] if block_digits.kind is Kind.DYNAMIC else [block_digits])]
    elif place is not None:
        path = path_to(place)
    else:
        return ()
    return next(
        (activities.cells for activities in activities_of(path) if activities.field == activity), ()
    )
