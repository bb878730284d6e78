"""Split loops where conditions on their index change, so that most iterations have none.

A stencil that looks whether a neighbor is inside (`if i > 0`), that stays at the border
(`max(i - 1, 0)`) or goes around it (`(i + 1) % n`) does so at every element, and the loop is
vector code only with masks and gathers, if at all. Here such a loop becomes three: the iterations
in front of the longest stretch in which nothing changes, the stretch, without what is decided
there, and those behind it. Their order is kept, so every result is the same to the bit. A large
parallel loop, where no result depends on the order, becomes two: the stretch and all others.

Compilers know this as index-set splitting (Griebl, Feautrier, Lengauer: Index set splitting, IJPP
28, 2000). LLVM does it by peeling iterations and by unswitching, which depends on what it knows of
the bounds of all loops around.
"""

from __future__ import annotations

from typing import Annotated

from mlirad.analysis.linear import linear_form
from mlirad.analysis.trips import spans
from mlirad.bindings import ir
from mlirad.ir.limits import Range
from mlirad.ir.ops import Memref
from mlirad.ir.reports.remarks import forget_remarks
from mlirad.ir.requirements import KERNELS
from mlirad.ir.structured import ANY_ORDER, AT_END, For, is_for
from mlirad.ir.walk import before, children, constant_integer, functions, operations
from mlirad.passes.loops.split_guarded_loops.guards import (
    Known,
    Stretch,
    decide,
    known_within,
    longest_stretch,
)
from mlirad.passes.loops.split_guarded_loops.loop_copies import (
    clip_index,
    copy_loop,
    may_change_order,
    split_in_two,
)

REQUIRES = KERNELS

_LOOP, _FUNCTION = 400, 3000  # operations that a loop may have, and a function in the end
_TOGETHER = 4  # elements between iterations that vectors are loaded with


def split_guarded_loops(
    module: ir.Operation,
    *,
    width: Annotated[int, Range(1, 64)] = 1,
    fast: bool = True,
    large: Annotated[int, Range(0, 1_000_000)] = 200,
) -> None:
    """Split loops around the longest range of iterations for which guards on their index have a
    known result.

    Outer loops first, then those within the stretch. Of loops in steps of 1 only, and where more is
    decided in the stretch than in all of the loop. `width`: iterations of an innermost loop that
    will run together; of a large one the stretch is as many as fill such vectors, and other
    iterations run behind it. `fast`: sums may be taken in another order. `large`: operations of
    which two copies are enough.
    """
    for function in functions(module):
        _Function(function, width, fast, large).visit(function)


class _Function:
    """The known ranges of the indices of a function, and the amount by which it may still grow."""

    def __init__(self, function: ir.Operation, width: int, fast: bool, large: int) -> None:
        self.room = _FUNCTION - len(list(operations(function)))
        self.width, self.fast, self.large = width, fast, large
        self.known: Known = {}

    def visit(self, op: ir.Operation) -> None:
        """Split the loops in an op."""
        for child in list(children(op.regions)):
            if len(child.regions):
                self.visit(self._split(child) if is_for(child) else child)

    def _split(self, loop: ir.Operation) -> ir.Operation:
        """A loop, or what is its stretch from now on."""
        self._know(loop)
        count = len(list(operations(loop)))
        in_two = count > self.large and may_change_order(loop, self.fast)
        copies = 1 if in_two else 2
        is_large = (count > _LOOP and not in_two) or copies * count > self.room
        if is_large or constant_integer(loop.operands[2]) != 1:
            return loop
        stretch = longest_stretch(loop, self.known)
        if stretch is None or _updates_neighbours(loop):
            return loop
        self.room -= copies * count
        width = self.width
        middle = split_in_two(loop, stretch, width) if in_two else _split_around(loop, stretch)
        self._know(middle)
        index = For(middle).induction
        self.known[index] = known_within(index, stretch, self.known)
        decide(middle, self.known)
        return middle

    def _know(self, op: ir.Operation) -> None:
        for loop in filter(is_for, (op, *operations(op))):
            span = spans(loop)[0]
            if span.low is not None and span.high is not None and span.low < span.high:
                self.known[For(loop).induction] = span.low, span.high - 1


def _updates_neighbours(loop: ir.Operation) -> bool:
    """Return whether an innermost loop writes elements at several distances from its index, and
    vectors hold those of several iterations. Vectors that begin between those of the iterations
    before wait for their stores; those with a mask begin where these do."""
    index = For(loop).induction
    places: dict[ir.Value, set[tuple[int, ...]]] = {}
    for op in operations(loop):
        if is_for(op) and op != loop:
            return False
        if op.name == Memref.STORE:
            forms = [linear_form(place) for place in list(op.operands)[2:]]
            steps, _ = ir.MemRefType(op.operands[1].type).get_strides_and_offset()
            distance = sum(form.coefficient(index) * step for form, step in zip(forms, steps))
            along = tuple(form.constant for form in forms if form.coefficient(index))
            if abs(distance) <= _TOGETHER:
                places.setdefault(op.operands[1], set()).add(along)
    return any(len(distances) > 1 for distances in places.values())


def _split_around(loop: ir.Operation, stretch: Stretch) -> ir.Operation:
    """Make a loop three, or two where the stretch is known to be at an end; the one of the
    stretch."""
    low, high = list(loop.operands)[:2]
    first, behind, ranges = low, high, []
    with before(loop):
        if stretch.first is not None:
            first = clip_index(stretch.first, low, high)
            ranges.append((low, first))
        if stretch.last is not None:
            behind = clip_index(stretch.last + 1, first, high)
        ranges.append((first, behind))
        if behind != high:
            ranges.append((behind, high))
        values = list(loop.operands)[3:]
        for begin, end in ranges:
            copy = copy_loop(loop, begin, end, values)
            values = list(copy.op.results)
            if begin == first and end == behind:
                middle = copy.op
                continue
            copy.op.attributes[AT_END] = ir.UnitAttr.get()
            forget_remarks(copy.op)
            if ANY_ORDER in copy.op.attributes:
                del copy.op.attributes[ANY_ORDER]  # few iterations, which need no lanes
    for result, value in zip(list(loop.results), values):
        result.replace_all_uses_with(value)
    loop.erase()
    return middle
