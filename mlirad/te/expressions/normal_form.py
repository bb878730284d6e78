"""Definitions in normal form: an expression without reductions, or one reduction of such an
expression, with at most `te.MOST_NESTED` branches within branches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from mlirad.dialect.te import MOST_NESTED
from mlirad.te.expressions import (
    Axis,
    Branches,
    Expr,
    Number,
    Read,
    Reduction,
    Select,
    Steps,
    in_order,
    logic,
    number,
    unwound,
    with_parts,
)
from mlirad.types import u1

# makes a definition of an expression, over some of the axes around it, and gives its element
TakeOut = Callable[[Expr, Sequence[Axis]], Expr]


def normal_form(body: Expr, axes: Sequence[Axis], take_out: TakeOut) -> Expr:
    """The expression with elements of other definitions in the places of reductions within, and of
    choices that are nested too deep."""
    around = _Around(tuple(axes))
    if isinstance(body, Reduction):
        return _without_inner(body, around, take_out)
    return _split(body, around, take_out)


def _split(one: Expr, around: _Around, take_out: TakeOut) -> Expr:
    parts = in_order(one, lambda part: part.parts)
    branches, choices = Branches(one), sum(isinstance(part, Select) for part in parts)
    is_deep = choices > MOST_NESTED and branches.is_deeper_than(MOST_NESTED)
    if is_deep or any(isinstance(part, Reduction) for part in parts):
        return unwound(_Split(branches, take_out).of(one, around))
    return one


@dataclass(frozen=True, eq=False)
class _Around:
    """What is around an expression: indices it may use, and conditions under which it is
    computed."""

    axes: tuple[Axis, ...]
    condition: Expr | None = None

    def under(self, condition: Expr) -> _Around:
        """The same within a branch."""
        return replace(self, condition=_both(self.condition, condition))


def _without_inner(one: Reduction, around: _Around, take_out: TakeOut) -> Reduction:
    """A reduction of expressions without any."""
    inside = replace(around, axes=(*around.axes, *one.axes))
    where = None if one.where is None else _split(one.where, inside, take_out)
    if one.where is not None:
        inside = inside.under(one.where)
    return replace(
        one,
        values=tuple(_split(value, inside, take_out) for value in one.values),
        where=where,
        initial=tuple(_split(value, around, take_out) for value in one.initial),
    )


class _Split:
    """Takes parts out of an expression; what was made for a branch serves within it alone."""

    def __init__(self, branches: Branches, take_out: TakeOut) -> None:
        self._take_out, self._branches = take_out, branches
        self._scopes: list[dict[Expr, Expr]] = [{}]

    def of(self, one: Expr, around: _Around) -> Steps[Expr]:
        """The expression with reads in the places of reductions."""
        for scope in reversed(self._scopes):
            if one in scope:
                return scope[one]
        if isinstance(one, Reduction):
            made = self._reduction(one, around)
        elif isinstance(one, Select) and len(self._scopes) > MOST_NESTED:
            made = self._choice(one, around)
        elif isinstance(one, Select):
            made = yield self._select(one, around)
        else:
            parts: dict[Expr, Expr] = {}
            for part in one.parts:
                parts[part] = yield self.of(part, around)
            made = with_parts(one, parts.__getitem__)
        self._scopes[-1][one] = made
        return made

    def _select(self, one: Select, around: _Around) -> Steps[Expr]:
        condition = yield self.of(one.condition, around)
        for part in self._branches.shared(one):
            yield self.of(part, around)
        with self._branch():
            then = yield self.of(one.then, around.under(one.condition))
        with self._branch():
            otherwise = yield self.of(one.otherwise, around.under(~one.condition))
        return replace(one, condition=condition, then=then, otherwise=otherwise)

    @contextmanager
    def _branch(self) -> Iterator[None]:
        self._scopes.append({})
        yield
        self._scopes.pop()

    def _reduction(self, one: Reduction, around: _Around) -> Expr:
        guard = around.condition
        if guard is not None and _has_reads(one):
            one = replace(one, where=guard if one.where is None else _both(guard, one.where))
        return self._taken_out(one, around)

    def _choice(self, one: Select, around: _Around) -> Expr:
        assert around.condition is not None
        reached = self._taken_out(around.condition, around)
        nothing = number(one.dtype, 0)
        return self._taken_out(Select(one.dtype, reached, one, nothing), around)

    def _taken_out(self, one: Expr, around: _Around) -> Expr:
        used = _axes_of(one)
        return self._take_out(one, [axis for axis in around.axes if axis in used])


def _both(first: Expr | None, second: Expr) -> Expr:
    """Both of two conditions, of which the second one reads only where the first one holds."""
    if first is None or not _has_reads(second):
        return second if first is None else logic("and", first, second)
    return Select(u1, first, second, Number(u1, False))


def _axes_of(one: Expr) -> set[Axis]:
    """The axes that an expression uses and does not reduce."""
    used: set[Axis] = set()
    pending = [(one, frozenset[Axis]())]
    seen: set[tuple[Expr, frozenset[Axis]]] = set()
    while pending:
        part, bound = pending.pop()
        if (part, bound) in seen:
            continue
        seen.add((part, bound))
        if isinstance(part, Axis) and part not in bound:
            used.add(part)
        inside = bound | set(part.axes) if isinstance(part, Reduction) else bound
        pending += [(inner, inside) for inner in part.parts]
    return used


def _has_reads(one: Expr) -> bool:
    return any(isinstance(part, Read) for part in in_order(one, lambda part: part.parts))


def renamed(one: Expr, known: Mapping[Any, Expr]) -> Expr:
    """An expression with others in the places of some of its parts."""
    made: dict[Expr, Expr] = dict(known.items())
    for part in in_order(one, lambda part: () if part in known else part.parts):
        if part not in made:
            made[part] = with_parts(part, made.__getitem__)
    return made[one]
