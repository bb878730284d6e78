"""Sums that Python wrote term by term, as reductions: `sum(x[i + k] * w[k] for k in range(300))` is
one read of `x`, not 300 of them.

The terms have to be the same but for integers in indices, and each of these integers has to grow by
the same step from term to term, or along each axis of a box of terms (`for a in range(9) for c in
range(9)`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from mlirad.te.definitions.reductions import sum as sum_over
from mlirad.te.expressions import INDEX, Axis, Call, Expr, Number, Read, Reduction, in_order
from mlirad.te.expressions.normal_form import replace_nodes
from mlirad.types import f32, f64

_FEWEST = 12  # terms: fewer take as long either way
_DIVISIONS = ("floordiv", "mod")  # whose divisors cannot depend on an index
Numbers = tuple[int, ...]


def roll_sums(body: Expr) -> Expr:
    """Return an expression with reductions in the places of its long sums."""
    nodes = body.nodes()
    if sum(map(_is_sum, nodes)) < _FEWEST - 1:
        return body
    parents = dict[Expr, int]()
    for node in nodes:
        for operand in node.operands:
            parents[operand] = parents.get(operand, 0) + 1
    inner = {n.arguments[0] for n in nodes if isinstance(n, Call) and _is_sum(n)}
    rolled = dict[Expr, Expr]()
    for node in nodes:
        if _is_sum(node) and (node not in inner or parents[node] > 1):
            reduction = _roll(_terms(node, parents))
            if reduction is not None:
                rolled[node] = reduction
    return replace_nodes(body, rolled) if rolled else body


def _is_sum(node: Expr) -> bool:
    return isinstance(node, Call) and node.name == "add" and node.dtype in (f32, f64)


def _terms(root: Expr, parents: dict[Expr, int]) -> list[Expr]:
    """The terms of a sum, in the order in which Python adds them."""
    terms, node = list[Expr](), root
    while _is_sum(node) and (node is root or parents[node] == 1):
        assert isinstance(node, Call)
        node, term = node.arguments
        terms.append(term)
    return [node, *reversed(terms)]


def _roll(terms: Sequence[Expr]) -> Expr | None:
    """The sum with a reduction for its longest part, between a few terms; None if there is none."""
    forms = [_Form.of(term) for term in terms]
    first = next((k for k in range(len(forms) - 1) if forms[k].key == forms[k + 1].key), len(forms))
    last = next((k for k in range(first, len(forms)) if forms[k].key != forms[first].key), None)
    alike = forms[first:last]
    if len(alike) < max(_FEWEST, len(terms) - 8):
        return None
    box = _box([form.numbers for form in alike])
    if box is None:
        return None
    axes = [
        Axis(INDEX, f"k{number}", extent, is_reduced=True) for number, (extent, _) in enumerate(box)
    ]
    replacements = dict[Expr, Expr]()
    for position, node in enumerate(alike[0].nodes):
        index: Expr = node
        for axis, (_, steps) in zip(axes, box):
            if steps[position]:
                index = index + axis * steps[position]
        if index is not node:
            replacements[node] = index
    total = sum_over(replace_nodes(terms[first], replacements), axes)
    before = [term for term in terms[:first] if not _is_zero(term)]
    for term in before:
        total = term + total
    for term in terms[first + len(alike) :]:
        total = total + term
    return total


def _is_zero(term: Expr) -> bool:
    return isinstance(term, Number) and term.value == 0


@dataclass(frozen=True)
class _Form:
    """A term: what it is but for integers in indices, these integers, and where they stand."""

    key: Hashable
    nodes: list[Number]

    @property
    def numbers(self) -> Numbers:
        """The integers."""
        return tuple(int(node.value) for node in self.nodes)

    @staticmethod
    def of(term: Expr) -> _Form:
        """Return the form of a term."""
        ordered = in_order(term, lambda node: node.operands)
        positions = {node: number for number, node in enumerate(ordered)}
        fixed = {
            node.arguments[1]
            for node in ordered
            if isinstance(node, Call) and node.name in _DIVISIONS
        }
        nodes = list[Number]()
        key = list[Hashable]()
        for node in ordered:
            if isinstance(node, Number) and node.dtype == INDEX and node not in fixed:
                nodes.append(node)
                key.append("number")
            else:
                key.append((*_kind(node), *(positions[operand] for operand in node.operands)))
        return _Form(tuple(key), nodes)


def _kind(node: Expr) -> Iterator[Any]:
    """Yield the properties of an expression except its operands."""
    yield from (type(node), node.dtype)
    if isinstance(node, Number):
        yield node.value
    elif isinstance(node, Call):
        yield node.name
    elif isinstance(node, Read):
        yield node.tensor.value
    elif isinstance(node, Reduction) or not node.operands:
        yield node  # the same only if it is this one


def _box(rows: Sequence[Numbers]) -> list[tuple[int, Numbers]] | None:
    """The extents of a box and the steps of numbers along its axes, the last axis fastest; None if
    the numbers of some terms are not those of a box."""
    if len(rows) == 1:
        return []
    steps = _difference(rows[0], rows[1])
    length = 1
    while length < len(rows) and _difference(rows[length - 1], rows[length]) == steps:
        length += 1
    if len(rows) % length:
        return None
    for start in range(0, len(rows), length):
        row = rows[start : start + length]
        if any(_difference(*pair) != steps for pair in pairwise(row)):
            return None
    outer = _box(rows[::length])
    return None if outer is None else [*outer, (length, steps)]


def _difference(left: Numbers, right: Numbers) -> Numbers:
    return tuple(b - a for a, b in zip(left, right))
