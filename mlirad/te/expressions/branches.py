"""Branches of choices: what both compute is computed in front of the choice, once."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.te.expressions.order import Steps, unwound
from mlirad.te.expressions.tree import (
    Axis,
    Expr,
    Extent,
    Number,
    Operand,
    Reduction,
    Select,
    Size,
    select,
)


def by_ranges(index: Expr, ends: Sequence[Extent], values: Sequence[Operand]) -> Operand:
    """The value whose range an index is in: each range goes from the end before up to its own. It
    is found by halves, so that many values are not nested as deep."""
    if len(values) == 1:
        return values[0]
    half = len(values) // 2
    below = by_ranges(index, ends[:half], values[:half])
    return select(index < ends[half - 1], below, by_ranges(index, ends[half:], values[half:]))


class Branches:
    """The branches of all choices in an expression. Sets of its parts are bits, by their order."""

    def __init__(self, root: Expr) -> None:
        self._whole = root
        self._order: list[Expr] = []
        self._computed: dict[Expr, int] = {}  # wherever one is computed

    def is_deeper_than(self, most: int) -> bool:
        """Return whether more choices are nested within branches of one another."""
        depths: dict[Expr, int] = {}
        for node in self._whole.nodes():
            inner = [depths[operand] for operand in node.operands]
            if isinstance(node, Select):
                inner = [depths[node.condition], depths[node.then] + 1, depths[node.otherwise] + 1]
            depths[node] = max(inner, default=0)
        return depths[self._whole] > most and unwound(self._depth(self._whole, [set()])) > most

    def _depth(self, node: Expr, scopes: list[set[Expr]]) -> Steps[int]:
        """Return how deep branches are nested if what they share is in front of them."""
        if any(node in scope for scope in scopes):
            return 0
        always: Sequence[Expr] = node.operands
        depth = len(scopes) - 1
        if isinstance(node, Select):
            always = [node.condition, *self.shared_by_branches(node)]
        for operand in always:
            depth = max(depth, (yield self._depth(operand, scopes)))
        for branch in (node.then, node.otherwise) if isinstance(node, Select) else ():
            scopes.append(set())
            depth = max(depth, (yield self._depth(branch, scopes)))
            scopes.pop()
        scopes[-1].add(node)
        return depth

    def shared_by_branches(self, choice: Select) -> list[Expr]:
        """Return the expressions that both branches of a choice compute, without their operands."""
        if not self._order:
            self._fill()
        left = self._computed[choice.then] & self._computed[choice.otherwise]
        shared = []
        while left:
            shared.append(self._order[left.bit_length() - 1])
            left &= ~self._computed[shared[-1]]
        return shared[::-1]

    def _fill(self) -> None:
        self._order = self._whole.nodes()
        for number, node in enumerate(self._order):
            computed = 0 if isinstance(node, Number | Axis | Size) else 1 << number
            for operand in node.initial if isinstance(node, Reduction) else node.operands:
                if not isinstance(node, Select) or operand is node.condition:
                    computed |= self._computed[operand]
            if isinstance(node, Select):
                computed |= self._computed[node.then] & self._computed[node.otherwise]
            self._computed[node] = computed
