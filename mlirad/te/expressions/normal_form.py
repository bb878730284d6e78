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


def _split(root: Expr, around: _Around, take_out: TakeOut) -> Expr:
    nodes = root.nodes()
    branches, choices = Branches(root), sum(isinstance(node, Select) for node in nodes)
    is_deep = choices > MOST_NESTED and branches.is_deeper_than(MOST_NESTED)
    if is_deep or any(isinstance(node, Reduction) for node in nodes):
        return unwound(_Split(branches, take_out).split_node(root, around))
    return root


@dataclass(frozen=True, eq=False)
class _Around:
    """The context of an expression: indices it may use, and conditions under which it is
    computed."""

    axes: tuple[Axis, ...]
    condition: Expr | None = None

    def under(self, condition: Expr) -> _Around:
        """Return the context within a branch."""
        return replace(self, condition=_both_hold(self.condition, condition))


def _without_inner(reduction: Reduction, around: _Around, take_out: TakeOut) -> Reduction:
    """A reduction of expressions without any."""
    inside = replace(around, axes=(*around.axes, *reduction.axes))
    where = None if reduction.where is None else _split(reduction.where, inside, take_out)
    if reduction.where is not None:
        inside = inside.under(reduction.where)
    return replace(
        reduction,
        values=tuple(_split(value, inside, take_out) for value in reduction.values),
        where=where,
        initial=tuple(_split(value, around, take_out) for value in reduction.initial),
    )


class _Split:
    """Takes parts out of an expression; what was made for a branch serves within it alone."""

    def __init__(self, branches: Branches, take_out: TakeOut) -> None:
        self._take_out, self._branches = take_out, branches
        self._scopes: list[dict[Expr, Expr]] = [{}]

    def split_node(self, node: Expr, around: _Around) -> Steps[Expr]:
        """The expression with reads in the places of reductions."""
        for scope in reversed(self._scopes):
            if node in scope:
                return scope[node]
        if isinstance(node, Reduction):
            split = self._reduction(node, around)
        elif isinstance(node, Select) and len(self._scopes) > MOST_NESTED:
            split = self._choice(node, around)
        elif isinstance(node, Select):
            split = yield self._select(node, around)
        else:
            operands: dict[Expr, Expr] = {}
            for operand in node.operands:
                operands[operand] = yield self.split_node(operand, around)
            split = node.with_operands(operands.__getitem__)
        self._scopes[-1][node] = split
        return split

    def _select(self, choice: Select, around: _Around) -> Steps[Expr]:
        condition = yield self.split_node(choice.condition, around)
        for operand in self._branches.shared_by_branches(choice):
            yield self.split_node(operand, around)
        with self._branch():
            then = yield self.split_node(choice.then, around.under(choice.condition))
        with self._branch():
            otherwise = yield self.split_node(choice.otherwise, around.under(~choice.condition))
        return replace(choice, condition=condition, then=then, otherwise=otherwise)

    @contextmanager
    def _branch(self) -> Iterator[None]:
        self._scopes.append({})
        yield
        self._scopes.pop()

    def _reduction(self, reduction: Reduction, around: _Around) -> Expr:
        guard = around.condition
        if guard is not None and _has_reads(reduction):
            reduction = replace(
                reduction,
                where=guard if reduction.where is None else _both_hold(guard, reduction.where),
            )
        return self._take(reduction, around)

    def _choice(self, choice: Select, around: _Around) -> Expr:
        assert around.condition is not None
        reached = self._take(around.condition, around)
        nothing = number(choice.dtype, 0)
        return self._take(Select(choice.dtype, reached, choice, nothing), around)

    def _take(self, node: Expr, around: _Around) -> Expr:
        used = _axes_of(node)
        return self._take_out(node, [axis for axis in around.axes if axis in used])


def _both_hold(first: Expr | None, second: Expr) -> Expr:
    """Both of two conditions, of which the second one reads only where the first one holds."""
    if first is None or not _has_reads(second):
        return second if first is None else logic("and", first, second)
    return Select(u1, first, second, Number(u1, False))


def _axes_of(root: Expr) -> set[Axis]:
    """The axes that an expression uses and does not reduce."""
    used: set[Axis] = set()
    pending = [(root, frozenset[Axis]())]
    visited: set[tuple[Expr, frozenset[Axis]]] = set()
    while pending:
        node, bound = pending.pop()
        if (node, bound) in visited:
            continue
        visited.add((node, bound))
        if isinstance(node, Axis) and node not in bound:
            used.add(node)
        inside = bound | set(node.axes) if isinstance(node, Reduction) else bound
        pending += [(inner, inside) for inner in node.operands]
    return used


def _has_reads(root: Expr) -> bool:
    return any(isinstance(node, Read) for node in root.nodes())


def replace_nodes(root: Expr, replacements: Mapping[Any, Expr]) -> Expr:
    """An expression with others in the places of some of its parts."""
    copies: dict[Expr, Expr] = dict(replacements.items())
    for node in in_order(root, lambda node: () if node in replacements else node.operands):
        if node not in copies:
            copies[node] = node.with_operands(copies.__getitem__)
    return copies[root]
