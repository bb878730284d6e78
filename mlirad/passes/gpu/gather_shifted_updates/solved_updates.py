"""Updates of parallel loops of which the element tells the iteration: each index of the element is
fixed, or gives one of the indices of the loops around the update."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from mlirad.analysis.linear import Linear
from mlirad.analysis.meetings import Meetings
from mlirad.analysis.trips import span_of
from mlirad.bindings import ir
from mlirad.dialect.field import (
    AtomicKind,
    DimOp,
    GetOp,
    array_of,
    atomic_kind,
    is_atomic,
    is_load,
    split_access,
)
from mlirad.dialect.grad import PopOp, PushOp
from mlirad.ir.ops import Func, Scf
from mlirad.ir.pure_operations import is_arithmetic
from mlirad.ir.structured import For, Parallel, is_branch, is_for
from mlirad.ir.walk import (
    Array,
    accesses,
    ancestors,
    constant_integer,
    enclosing,
    has_uses,
    is_defined_in,
    operations,
    owner_operation,
)


class Solution(NamedTuple):
    """`element = factor · variable + offset` along one axis; what that leaves when it is divided by
    `modulus`, where this is not 0."""

    variable: ir.Value
    factor: int
    offset: Linear[ir.Value]
    modulus: int


class Cell(NamedTuple):
    """The common part of updates of one element: the array, and along each axis a fixed index or
    the variable that the element gives."""

    root: Array
    axes: tuple[Linear[ir.Value] | ir.Value, ...]

    @property
    def variables(self) -> tuple[ir.Value, ...]:
        """The variables, in the order of their axes."""
        return tuple(axis for axis in self.axes if not isinstance(axis, Linear))


class Update(msgspec.Struct, eq=False):
    """An update, the branches and loops around it within the parallel loop, outer first, and the
    operations that it is computed by."""

    op: ir.Operation
    cell: Cell
    solutions: dict[ir.Value, Solution]
    owners: list[ir.Operation]
    needed: set[ir.Operation]

    @property
    def array(self) -> ir.Value:
        """Return what is updated."""
        return split_access(self.op)[0]

    @property
    def type(self) -> ir.Type:
        """The type of the element."""
        return self.op.operands[0].type

    def extent(self, axis: int) -> int | None:
        """An extent of the array, if it is known."""
        extent = array_of(self.array.type)[1][axis]
        return None if extent < 0 else extent

    def extents(self) -> tuple[int | None, ...]:
        """The extents along the axes that give a variable."""
        axes = enumerate(self.cell.axes)
        return tuple(self.extent(number) for number, axis in axes if not isinstance(axis, Linear))

    def loops_in_front(self) -> list[For]:
        """The loops around it whose indices the solutions need, outer first."""
        asked = {leaf for solution in self.solutions.values() for leaf in solution.offset.names}
        return [For(op) for op in self.owners if is_for(op) and For(op).induction in asked]

    def loops_in_place(self) -> list[For]:
        """The loops around it that stay where they are."""
        front = [loop.op for loop in self.loops_in_front()]
        return [
            For(op)
            for op in self.owners
            if is_for(op) and op not in front and For(op).induction not in self.solutions
        ]


class SolvedUpdates:
    """Finds them in one parallel loop."""

    def __init__(self, loop: ir.Operation, meetings: Meetings) -> None:
        self.loop, self.meetings = loop, meetings
        self.indices = Parallel(loop).indices

    def find(self) -> list[Update]:
        """The sums whose iteration is known by their element, and can be computed again."""
        updates: list[Update] = []
        if any(constant_integer(step) != 1 for step in Parallel(self.loop).steps):
            return updates
        for op, root, indices in accesses(self.loop):
            around = [*ancestors(op, self.loop)][::-1]
            if not is_sum(op) or not all(is_for(owner) or is_branch(owner) for owner in around):
                continue
            if isinstance(root, ir.Value) and is_defined_in(root, self.loop):
                continue
            solved = self._solve(root, indices, around)
            needed = self._needed_operations(op, around)
            if solved is not None and needed is not None and self._can_move(around, solved[1]):
                updates.append(Update(op, *solved, around, needed))
        return updates

    def _solve(
        self, root: Array, indices: Sequence[ir.Value], around: list[ir.Operation]
    ) -> tuple[Cell, dict[ir.Value, Solution]] | None:
        inner = [For(op).induction for op in around if is_for(op)]
        axes: list[Linear[ir.Value] | ir.Value] = []
        solutions: dict[ir.Value, Solution] = {}
        for index in indices:
            residue = self.meetings.residue(index)
            form = self.meetings.form(index)
            if not self.meetings.varying(form):
                axes.append(form)
                continue
            factors = self.meetings.varying(residue.total)
            left = [iv for iv in (*self.indices, *inner) if iv not in solutions]
            variable = next((iv for iv in left if iv in factors), None)
            if variable is None or any(leaf not in left for leaf in factors):
                return None
            remainder, modulus = residue.total.without(variable), residue.modulus
            solution = Solution(variable, factors[variable], remainder, modulus)
            if modulus and not (residue.is_remainder and _goes_round_once(solution)):
                return None
            axes.append(variable)
            solutions[variable] = solution
        if not solutions or any(
            s.offset.coefficient(v) for s in solutions.values() for v in solutions
        ):
            return None
        return Cell(root, tuple(axes)), solutions

    def _needed_operations(
        self, op: ir.Operation, around: list[ir.Operation]
    ) -> set[ir.Operation] | None:
        """Return what the value of an update is computed by, and whether it is made; None if that
        cannot be done again."""
        needed: set[ir.Operation] = set()
        pending = [op.operands[0]]
        for owner_op in around:
            pending += list(owner_op.operands)[: 3 if is_for(owner_op) else 1]
        while pending:
            value = pending.pop()
            if not is_defined_in(value, self.loop):
                continue
            if isinstance(value, ir.BlockArgument):
                owner = value.owner.owner.operation
                if owner in around and value.arg_number:
                    return None
                continue
            producer = value.owner.operation
            if producer in needed:
                continue
            if not only_reads(producer):
                return None
            needed.add(producer)
            pending += producer.operands
            pending += [operand for child in operations(producer) for operand in child.operands]
        return needed

    def _can_move(self, around: list[ir.Operation], solutions: dict[ir.Value, Solution]) -> bool:
        """Return whether loops whose index is computed, or is needed for that, can be left or moved
        in front of the others."""
        asked = {leaf for solution in solutions.values() for leaf in solution.offset.names}
        for op in around:
            if not is_for(op):
                continue
            index, (low, high, step) = For(op).induction, list(op.operands)[:3]
            if index in solutions and constant_integer(step) != 1:
                return False
            if index in solutions and not self._is_even(low, high):
                return False
            if index in asked and any(self.meetings.changes(bound) for bound in (low, high, step)):
                return False
        return True

    def _is_even(self, low: ir.Value, high: ir.Value) -> bool:
        """Return whether bounds are sums of the indices of the parallel loop and of what it does
        not change: other loops may be short in most iterations."""
        leaves = [
            leaf for v in (low, high) for leaf in self.meetings.varying(self.meetings.form(v))
        ]
        return all(leaf in self.indices for leaf in leaves)


def is_sum(op: ir.Operation) -> bool:
    """Return whether an op adds to an element, and no more: such updates may run in any order."""
    return is_atomic(op) and atomic_kind(op) == AtomicKind.ADD and not has_uses(op.results[0])


def only_reads(op: ir.Operation) -> bool:
    """Return whether an op can run again, or not at all, where nothing that it reads has
    changed."""
    if is_for(op) or is_branch(op):
        return all(only_reads(child) for child in operations(op))
    return (
        is_arithmetic(op)
        or is_load(op)
        or GetOp.holds(op)
        or DimOp.holds(op)
        or op.name == Scf.YIELD
        or (PopOp.holds(op) and _was_filled(op))
    )


def _was_filled(pop: ir.Operation) -> bool:
    """Return whether the stack that a value is taken from belongs to the function, and was filled
    by another loop of it (`kept_values.py`)."""
    stack = pop.operands[0]
    maker = owner_operation(stack)
    if enclosing(maker).name != Func.FUNC:
        return False
    pushes = [use.owner.operation for use in stack.uses if PushOp.holds(use.owner)]
    return not any(_top(push) == _top(pop) for push in pushes)


def _top(op: ir.Operation) -> ir.Operation:
    """The op at the top of the function that another stands in."""
    while enclosing(op).name != Func.FUNC:
        op = enclosing(op)
    return op


def _goes_round_once(solution: Solution) -> bool:
    span = span_of(solution.variable)
    length = None if span is None else span.length
    return solution.factor == 1 and length is not None and length <= solution.modulus
