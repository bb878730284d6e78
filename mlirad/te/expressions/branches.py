"""Branches of choices: what both compute is computed in front of the choice, once."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.te.expressions.order import Steps, in_order, unwound
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

    def __init__(self, whole: Expr) -> None:
        self._whole = whole
        self._order: list[Expr] = []
        self._computed: dict[Expr, int] = {}  # wherever one is computed

    def is_deeper_than(self, most: int) -> bool:
        """Whether more choices are nested within branches of one another."""
        depths: dict[Expr, int] = {}
        for one in in_order(self._whole, lambda part: part.parts):
            inner = [depths[part] for part in one.parts]
            if isinstance(one, Select):
                inner = [depths[one.condition], depths[one.then] + 1, depths[one.otherwise] + 1]
            depths[one] = max(inner, default=0)
        return depths[self._whole] > most and unwound(self._depth(self._whole, [set()])) > most

    def _depth(self, one: Expr, scopes: list[set[Expr]]) -> Steps[int]:
        """How deep branches are nested where what is shared is in front of them."""
        if any(one in scope for scope in scopes):
            return 0
        always: Sequence[Expr] = one.parts
        depth = len(scopes) - 1
        if isinstance(one, Select):
            always = [one.condition, *self.shared(one)]
        for part in always:
            depth = max(depth, (yield self._depth(part, scopes)))
        for branch in (one.then, one.otherwise) if isinstance(one, Select) else ():
            scopes.append(set())
            depth = max(depth, (yield self._depth(branch, scopes)))
            scopes.pop()
        scopes[-1].add(one)
        return depth

    def shared(self, one: Select) -> list[Expr]:
        """What both branches of a choice compute in any case, but for what that is made of."""
        if not self._order:
            self._fill()
        left = self._computed[one.then] & self._computed[one.otherwise]
        shared = []
        while left:
            shared.append(self._order[left.bit_length() - 1])
            left &= ~self._computed[shared[-1]]
        return shared[::-1]

    def _fill(self) -> None:
        self._order = in_order(self._whole, lambda part: part.parts)
        for number, one in enumerate(self._order):
            computed = 0 if isinstance(one, Number | Axis | Size) else 1 << number
            for part in one.initial if isinstance(one, Reduction) else one.parts:
                if not isinstance(one, Select) or part is one.condition:
                    computed |= self._computed[part]
            if isinstance(one, Select):
                computed |= self._computed[one.then] & self._computed[one.otherwise]
            self._computed[one] = computed
