"""Marks of iterations on the elements of an array: what the accesses to it do in each run of a
check."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from math import prod

from mlirad.analysis.races.deactivations import cure
from mlirad.analysis.trips import spans
from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.dialect.field import AtomicKind, atomic_kind, is_atomic, is_load, is_store, split_access
from mlirad.ir import build as b
from mlirad.ir.box import bounds_of, box_indices, box_size
from mlirad.ir.graph import Graph, Node
from mlirad.ir.reports.remarks import shown_array, shown_place
from mlirad.ir.structured import is_parallel
from mlirad.ir.walk import (
    at_end,
    before,
    constant_integer,
    copy_with,
    enclosing,
    has_uses,
    is_inside,
)
from mlirad.passes.derivative.insert_collision_checks.owners import HARMLESS, Owner, is_outside
from mlirad.sweeps.stash import allocate_elements, array_in, extents_of

_MOST = (1 << 31) - 2

_BELOW = 6  # of unsigned numbers, as a negative index is a large one

Accesses = dict[int, ir.Operation]  # of one run, by number


class Marks:
    """The marks of one owner, with memory made at the insertion point: the number of an iteration,
    counted from 1."""

    def __init__(
        self, graph: Graph, owner: Owner, numbers: dict[Node, int], arguments: Sequence[ir.Value]
    ) -> None:
        self.graph, self.owner, self.numbers = graph, owner, numbers
        array = array_in(arguments, graph, owner.markers[0])
        self.type = b.integer_type(32 if _is_short(owner.loop.op) else 64)
        self.sizes = extents_of(array, owner.axes)
        self.first = allocate_elements(array, owner.axes, self.type)
        self.second = (
            allocate_elements(array, owner.axes, self.type) if owner.is_shared else self.first
        )

    def free(self) -> None:
        """Release the memory."""
        for memory in dict.fromkeys((self.first, self.second)):
            b.dealloc(memory)

    def add(self, run: str, accesses: Accesses) -> None:
        """Add what is done in a run in front of the accesses."""
        owner = self.owner
        if run == "mark":
            self._add(accesses, owner.markers, self._mark, self._if_looked_at)
        elif run == "note" and owner.is_shared:
            self._add(accesses, owner.markers, self._note, self._if_looked_at)
        elif run == "clear":
            self._add(
                accesses,
                [node for node in owner.lookers if node not in owner.markers],
                self._clear,
                self._if_marked,
            )
        elif run == "look":
            self._add(accesses, owner.lookers, self._look, self._if_marked)

    def _add(
        self,
        accesses: Accesses,
        nodes: Sequence[Node],
        action: Callable[[Node, ir.Operation], None],
        condition: Callable[[Accesses, Node], list[ir.Value]],
    ) -> None:
        """Do something where these accesses touch an element that exists, and under a condition."""
        for node in nodes:
            op = accesses[self.numbers[node]]
            with before(op):
                tests = [
                    b.compare(_BELOW, index, size)
                    for index, size in zip(self._element(op), self.sizes)
                ]
                branch = b.if_else(_all([*condition(accesses, node), *tests]), [], with_else=False)
                with at_end(branch.then, op.location):
                    action(node, op)
                    b.yield_()

    def _element(self, op: ir.Operation) -> list[ir.Value]:
        indices = split_access(op)[1]
        return [indices[axis] for axis in self.owner.axes]

    # Where the loop does not move along an axis, the two indices are compared, and the axis has no
    # memory.

    def _if_marked(self, accesses: Accesses, node: Node) -> list[ir.Value]:
        """Return whether an access has the indices of those that mark, on the axes along which
        these do not move."""
        marker = self.owner.markers[0]
        indices, marked = (
            split_access(accesses[self.numbers[access]])[1] for access in (node, marker)
        )
        fixed = [
            axis
            for axis in range(len(indices))
            if axis not in self.owner.axes and not _is_same(indices[axis], marked[axis])
        ]
        loop = _parallel_loop(accesses[self.numbers[node]])
        return [
            b.compare(b.EQ, _again(indices[axis], loop), _again(marked[axis], loop))
            for axis in fixed
        ]

    def _if_looked_at(self, accesses: Accesses, node: Node) -> list[ir.Value]:
        """Return whether any access may look, as far as that is known outside of the loop."""
        owner, ways = self.owner, []
        for looker in owner.lookers:
            fixed = [index for axis, index in enumerate(looker.indices) if axis not in owner.axes]
            tests = (
                self._if_marked(accesses, looker)
                if all(is_outside(self.graph, v, owner.loop) for v in fixed)
                else []
            )
            if not tests:
                return []
            ways.append(b.all_of(tests))
        return [reduce(b.ori, ways)]

    # What is done.

    def _mark(self, node: Node, op: ir.Operation) -> None:
        b.write(self._number(op), self.first, self._element(op))

    def _note(self, node: Node, op: ir.Operation) -> None:
        """Note an iteration beside the one whose mark is there."""
        iteration = self._number(op)
        branch = b.if_else(
            b.compare(b.NE, b.read(self.first, self._element(op)), iteration), [], with_else=False
        )
        with at_end(branch.then, op.location):
            b.write(iteration, self.second, self._element(op))
            b.yield_()

    def _clear(self, node: Node, op: ir.Operation) -> None:
        for memory in dict.fromkeys((self.first, self.second)):
            b.write(b.number(0, self.type), memory, self._element(op))

    def _look(self, node: Node, op: ir.Operation) -> None:
        """Fail where another iteration has marked the element."""
        iteration, marked = self._number(op), b.read(self.first, self._element(op))
        if self.owner.is_shared:
            second = b.read(self.second, self._element(op))
            marked = b.select(self._is_another(marked, iteration), marked, second)
        branch = b.if_else(self._is_another(marked, iteration), [], with_else=False)
        with at_end(branch.then, op.location):
            self._fail(node, op, marked)
            b.yield_()

    def _is_another(self, marked: ir.Value, iteration: ir.Value) -> ir.Value:
        is_marked = b.compare(b.NE, marked, b.number(0, self.type))
        return b.andi(is_marked, b.compare(b.NE, marked, iteration))

    def _number(self, op: ir.Operation) -> ir.Value:
        """The number of the iteration around an access."""
        loop = _parallel_loop(op)
        extents, _ = box_size(loop)
        number = b.index(0)
        for bounds, extent, index in zip(
            bounds_of(loop), extents, loop.regions[0].blocks[0].arguments
        ):
            number = b.add(b.mul(number, extent), bounds.trip(index))
        return b.index_cast(b.add(number, b.index(1)), self.type)

    def _fail(self, node: Node, op: ir.Operation, marked: ir.Value) -> None:
        loop = _parallel_loop(op)
        extents, _ = box_size(loop)
        number = b.sub(b.to_index(marked), b.index(1))
        indices, marked_indices = (
            loop.regions[0].blocks[0].arguments,
            box_indices(loop, extents, number),
        )
        words = [*split_access(op)[1], *indices, *marked_indices]
        field.assert_(b.number(0, b.integer_type(1)), self._message(node, len(indices)), words)

    def _message(self, node: Node, rank: int) -> str:
        iteration = "{}" if rank == 1 else f"({', '.join(['{}'] * rank)})"
        index = f"[{', '.join(['{}'] * len(node.indices))}]" if node.indices else ""
        markers = self.owner.markers
        lines = sorted({shown_place(marker.op) for marker in markers if marker is not node})
        verb = "touched" if len({marker.name for marker in markers}) > 1 else _verb(markers[0])
        behind = "" if node in markers else f" at {' or '.join(lines)}"
        why = (
            "so the reverse, which does both again, cannot undo them"
            if all(map(_is_sum, (node, *markers)))
            else "so the gradient is not defined"
        )
        return (
            f"{shown_array(node.array)}{index} is {_verb(node)} here in iteration "
            f"{iteration} of a parallel loop, and "
            f"{verb} in iteration {iteration}{behind}, {why}: {cure(node)}"
        )


def _verb(node: Node) -> str:
    return "read" if is_load(node) else "written" if is_store(node) else "updated"


def _is_sum(node: Node) -> bool:
    """Return whether an access adds, and nothing uses what was there before."""
    return (
        is_atomic(node)
        and atomic_kind(node.op) == AtomicKind.ADD
        and not has_uses(node.op.results[0])
    )


def _is_short(loop: ir.Operation) -> bool:
    """Return whether the iterations of a loop are known to be few enough for 32 bits."""
    trips = [span.trips for span in spans(loop)]
    counts = [count for count in trips if count is not None]
    return len(counts) == len(trips) and prod(counts) <= _MOST


def _parallel_loop(op: ir.Operation) -> ir.Operation:
    while not is_parallel(op):
        op = enclosing(op)
    return op


def _is_same(left: ir.Value, right: ir.Value) -> bool:
    constant = constant_integer(left)
    return left == right or (constant is not None and constant == constant_integer(right))


def _again(value: ir.Value, loop: ir.Operation) -> ir.Value:
    """A value at another place in a loop: harmless arithmetic in it is done again.

    Other values are indices of the access at that place itself, or come from outside.
    """
    if isinstance(value, ir.BlockArgument) or not is_inside(value.owner.operation, loop):
        return value
    op = value.owner.operation
    if op.name not in HARMLESS:
        return value
    operands = [_again(operand, loop) for operand in op.operands]
    return copy_with(op, operands).results[0]


def _all(tests: Sequence[ir.Value]) -> ir.Value:
    return b.all_of(tests) if tests else b.number(1, b.integer_type(1))
