"""Split loops where conditions on their index change, so that most iterations have none.

A stencil that looks whether a neighbour is inside (`if i > 0`), that stays at the border
(`max(i - 1, 0)`) or goes around it (`(i + 1) % n`) does so at every element, and the loop is
vector code only with masks and gathers, if at all. Here such a loop becomes three: the iterations
in front of the longest stretch in which nothing changes, the stretch, without what is decided
there, and those behind it. Their order is kept, so every result is the same to the bit.

Compilers know this as index-set splitting (Griebl, Feautrier, Lengauer: Index set splitting, IJPP
28, 2000). LLVM does it by peeling iterations and by unswitching, which depends on what it knows of
the bounds of all loops around.
"""

from __future__ import annotations

from collections.abc import Iterator

from mlirad.analysis.linear import linear_form
from mlirad.analysis.trips import spans
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.box import folded
from mlirad.ir.remarks import forget_remarks
from mlirad.ir.requirements import KERNELS
from mlirad.ir.structured import ANY_ORDER, AT_END, For, is_for
from mlirad.ir.walk import (
    at_end,
    attributes_of,
    before,
    block_operations,
    clone,
    constant_integer,
    functions,
    operations,
)
from mlirad.passes.loops._guards import Known, Stretch, decide, known_within, longest_stretch

REQUIRES = KERNELS

_LOOP, _FUNCTION = 400, 3000  # operations that a loop may have, and a function in the end


def split_guarded_loops(module: ir.Operation) -> None:
    """Split loops around the longest stretch in which guards on their index are decided.

    Outer loops first, then those within the stretch. Of loops in steps of 1 only, and where more is
    decided in the stretch than in all of the loop.
    """
    for function in functions(module):
        _Function(function).visit(function)


class _Function:
    """What is known of the indices of a function, and how much it may still grow."""

    def __init__(self, function: ir.Operation) -> None:
        self.room = _FUNCTION - len(list(operations(function)))
        self.known: Known = {}

    def visit(self, op: ir.Operation) -> None:
        """Split the loops in an op."""
        for child in _children(op):
            self.visit(self._split(child) if is_for(child) else child)

    def _split(self, loop: ir.Operation) -> ir.Operation:
        """A loop, or what is its stretch from now on."""
        self._know(loop)
        count = len(list(operations(loop)))
        if count > _LOOP or 2 * count > self.room or constant_integer(loop.operands[2]) != 1:
            return loop
        stretch = longest_stretch(loop, self.known)
        if stretch is None or _updates_neighbours(loop):
            return loop
        self.room -= 2 * count
        middle = _split_around(loop, stretch)
        self._know(middle)
        index = For(middle).induction
        self.known[index] = known_within(index, stretch, self.known)
        decide(middle, self.known)
        return middle

    def _know(self, op: ir.Operation) -> None:
        for loop in filter(is_for, operations(op)):
            span = spans(loop)[0]
            if span.low is not None and span.high is not None and span.low < span.high:
                self.known[For(loop).induction] = span.low, span.high - 1


def _updates_neighbours(loop: ir.Operation) -> bool:
    """Whether an innermost loop writes elements at several distances from its index. Vectors that
    begin between those of the iterations before wait for their stores; those with a mask begin
    where these do."""
    index = For(loop).induction
    places: dict[ir.Value, set[tuple[int, ...]]] = {}
    for op in operations(loop):
        if is_for(op) and op != loop:
            return False
        if op.name == "memref.store":
            forms = [linear_form(one) for one in list(op.operands)[2:]]
            along = tuple(form.constant for form in forms if form.coefficient(index))
            places.setdefault(op.operands[1], set()).add(along)
    return any(len(found) > 1 for found in places.values())


def _children(op: ir.Operation) -> Iterator[ir.Operation]:
    for region in op.regions:
        for block in region.blocks:
            yield from block_operations(block)


def _split_around(loop: ir.Operation, stretch: Stretch) -> ir.Operation:
    """Make a loop three, or two where the stretch is known to be at an end; the one of the
    stretch."""
    low, high = list(loop.operands)[:2]
    first, behind, parts = low, high, []
    with before(loop):
        if stretch.first is not None:
            first = _clipped(stretch.first, low, high)
            parts.append((low, first))
        if stretch.last is not None:
            behind = _clipped(stretch.last + 1, first, high)
        parts.append((first, behind))
        if behind != high:
            parts.append((behind, high))
        values = list(loop.operands)[3:]
        for begin, end in parts:
            made = _copied(loop, begin, end, values)
            values = list(made.op.results)
            if begin == first and end == behind:
                middle = made.op
                continue
            made.op.attributes[AT_END] = ir.UnitAttr.get()
            forget_remarks(made.op)
            if ANY_ORDER in made.op.attributes:
                del made.op.attributes[ANY_ORDER]  # few iterations, which need no lanes
    for result, value in zip(list(loop.results), values):
        result.replace_all_uses_with(value)
    loop.erase()
    return middle


def _clipped(index: int, low: ir.Value, high: ir.Value) -> ir.Value:
    """An index, or the end of a loop that it is outside of."""
    return folded("arith.minsi", folded("arith.maxsi", b.index(index), low, max), high, min)


def _copied(loop: ir.Operation, low: ir.Value, high: ir.Value, values: list[ir.Value]) -> For:
    made = b.for_loop(low, high, b.index(1), values)
    for name, attribute in attributes_of(loop).items():
        made.op.attributes[name] = attribute
    mapping: dict[ir.Value, ir.Value] = dict(zip(For(loop).body.arguments, made.body.arguments))
    *ops, end = block_operations(For(loop).body)
    with at_end(made.body, loop.location):
        for op in ops:
            clone(op, mapping)
        b.yield_([mapping.get(value, value) for value in end.operands])
    return made
