"""Sums over loops: steps that may be taken in another order."""

from __future__ import annotations

from math import prod

from mlirad.analysis.trips import spans
from mlirad.dialect.field import is_atomic
from mlirad.ir.graph import Graph, Node
from mlirad.ir.marks.rounding import rounds
from mlirad.ir.ops import Arith
from mlirad.ir.structured import is_branch, is_for, is_parallel, is_serial_loop
from mlirad.passes.rounding.mark_rounding.decisions import Decisions

_STEPS = {Arith.ADDF: "add", Arith.SUBF: "add", Arith.MULF: "mul"}
_SHORT, _SHORT_LANES = 8, 16  # steps, trips


class Sums:
    """Finds the steps of sums in one function. `users` are the nodes that use each value."""

    def __init__(self, graph: Graph, decisions: Decisions) -> None:
        self.graph, self.decisions = graph, decisions
        self.users: dict[int, list[Node]] = {}
        for node in graph.nodes():
            for operand in dict.fromkeys(node.operands):
                self.users.setdefault(operand, []).append(node)

    def loose(self) -> set[Node]:
        """The steps of sums over loops, and the ops whose results go nowhere else."""
        loose = {node for node in self.graph.nodes() if self._is_shared_sum(node)}
        for loop in self.graph.nodes():
            if is_for(loop):
                for _, argument, last, _ in loop.flow.carried:
                    if self.graph.floats[argument] and argument not in self.decisions.values:
                        steps = self._chain(loop, argument, last)
                        if not self._are_few(loop, steps):
                            loose |= steps
        for node in reversed(list(self.graph.nodes())):
            if rounds(node.op) and node.results[0] not in self.decisions.values:
                users = self.users.get(node.results[0], [])
                if users and all(user in loose for user in users):
                    loose.add(node)
        return loose

    def lanes(self) -> set[Node]:
        """The steps of sums over loops that decisions are made of, where nothing else reads what
        they have come to."""
        steps = set()
        for loop in self.graph.nodes():
            if not is_for(loop) or self._is_short(loop, _SHORT_LANES):
                continue
            body = loop.blocks[0]
            for _, argument, last, _ in loop.flow.carried:
                step = self.graph.defined[last]
                if (
                    argument in self.decisions.values
                    and isinstance(step, Node)
                    and step.name == Arith.ADDF
                    and step.block is body
                    and self.users.get(argument) == [step]
                    and step.operands.count(argument) == 1
                    and self.users.get(last) == [body.terminator]
                    and body.terminator.operands.count(last) == 1
                ):
                    steps.add(step)
        return steps

    def _is_shared_sum(self, node: Node) -> bool:
        """Return whether an update adds to an element that other iterations may add to as well, in
        no order."""
        if (
            not is_atomic(node)
            or self.decisions.array(node) in self.decisions.arrays
            or self.decisions.decides(node)
            or not self.graph.floats[node.operands[0]]
        ):
            return False
        loops = [owner for owner in node.owners if is_parallel(owner)]
        indices = {v for loop in loops for v in loop.induction}
        inner = [owner for owner in node.owners if is_serial_loop(owner)]
        return bool(inner) or not indices.issubset(node.indices)

    def _are_few(self, loop: Node, steps: set[Node]) -> bool:
        """Return whether a sum of a loop, and of the loops in it, has so few terms that it gains
        nothing from another order."""
        count = 0
        for step in steps:
            trips = [
                spans(owner.op)[0].trips for owner in step.owners_within(loop) if is_for(owner)
            ]
            counts = [trip for trip in (*trips, spans(loop.op)[0].trips) if trip is not None]
            if len(counts) <= len(trips):
                return False
            count += prod(counts)
        return count <= _SHORT

    def _is_short(self, loop: Node, trips: int) -> bool:
        """Return whether a loop has so few trips that its sums gain nothing from another order."""
        count = spans(loop.op)[0].trips
        return count is not None and count <= trips

    def _chain(self, loop: Node, argument: int, last: int) -> set[Node]:
        """The steps from a carried value to what the next iteration gets; none where it is used in
        another way."""
        steps: set[Node] = set()
        values, pending = {argument}, [argument]
        while pending:
            value = pending.pop()
            for user in self.users.get(value, ()):
                if user is loop.blocks[0].terminator:
                    if user.operands.count(value) > 1 or value != last:
                        return set()
                    continue
                following = self._after(user, value)
                if following is None:
                    return set()
                if user.name in _STEPS:
                    steps.add(user)
                new = [v for v in following if v not in values]
                values.update(new)
                pending += new
        if last not in values or len({_STEPS[step.name] for step in steps}) > 1:
            return set()
        return steps

    def _after(self, user: Node, value: int) -> list[int] | None:
        """Return the partial sum after a use; None if the use is no step of a sum."""
        if user.name in _STEPS:
            once = user.operands.count(value) == 1
            return (
                list(user.results)
                if once and (user.name != Arith.SUBF or user.operands[0] == value)
                else None
            )
        owner = user if user.blocks else user.block.owner
        if (
            owner is None
            or not (is_for(owner) or is_branch(owner))
            or (user.blocks and value not in user.operands[3:])
        ):
            return None
        if not user.blocks and user is not user.block.terminator:
            return None
        return [
            target for source, targets in owner.flow.edges if source == value for target in targets
        ]
