"""Find accesses that leave their array in the first or last iterations of the loops around them.

Found are indices that are sums of loop indices, under no condition. A write that certainly happens
is refused, because it overwrites other memory. Of reads, and of loops that may have no iterations,
warnings are left in the module's `field.warnings`.
"""

from __future__ import annotations

from typing import NamedTuple

from mlirad.analysis.linear import Linear, LinearForms, number, unknown
from mlirad.analysis.trips import spans
from mlirad.bindings import ir
from mlirad.dialect.field import DimOp, array_of, is_load, split_access
from mlirad.errors import TaichiIndexError
from mlirad.ir.box import Bounds, bounds_of
from mlirad.ir.ops import Func
from mlirad.ir.reports.location import nearest_location, source_location
from mlirad.ir.reports.message import Message, add_warnings
from mlirad.ir.reports.remarks import shown_array
from mlirad.ir.requirements import KERNELS, is_private
from mlirad.ir.walk import (
    Array,
    accesses,
    ancestors,
    array_root,
    constant_integer,
    defining_op,
    functions,
    is_defined_in,
)

REQUIRES = KERNELS

# values, and extents of arrays: each access may ask for the extent by an op of its own
Name = ir.Value | tuple[Array, int]
Sum = Linear[Name]


class Ends(NamedTuple):
    """The least and the greatest value of an index; None where it is not known."""

    low: Sum | None
    high: Sum | None


def check_index_ranges(module: ir.Operation) -> None:
    """Refuse writes that certainly leave their array, and warn of reads."""
    sums = _Sums()
    messages = [
        message
        for function in functions(module)
        if not is_private(function)
        for op, root, indices in accesses(function)
        if (message := _check(op, root, indices, sums)) is not None
    ]
    add_warnings(module, messages)


def _check(op: ir.Operation, root: Array, indices: list[ir.Value], sums: _Sums) -> Message | None:
    loops = _loops_around(op)
    ranges = None if loops is None else sums.ranges_of(loops)
    if loops is None or ranges is None:
        return None
    extents = array_of(split_access(op)[0].type)[1]
    for axis, (index, extent) in enumerate(zip(indices, extents)):
        size: Sum = number(extent) if extent >= 0 else unknown((root, axis))
        problem = _problem(sums.ends_of(index, ranges), size)
        if problem is not None:
            described = f"axis {axis} has {extent} elements" if extent >= 0 else f"axis {axis}"
            end = f"the indices of this loop go {problem} of {shown_array(root)} ({described})"
            effect = "reads" if is_load(op) else "overwrites"
            text = f"{end}, and the access {effect} other memory: {_CURE}"
            if not is_load(op) and all(span.runs for loop in loops for span in spans(loop)):
                raise TaichiIndexError(text, nearest_location(op))
            return Message(text, source_location(op.location))
    return None


_CURE = (
    "change the range of the loop, or put the access under an `if` (ti.init(debug=True) checks "
    "all indices)"
)


def _loops_around(op: ir.Operation) -> list[ir.Operation] | None:
    """The loops around an access, all of whose iterations make it; None if there is none, or if
    anything else is around it."""
    loops: list[ir.Operation] = []
    for owner in ancestors(op):
        if owner.name == Func.FUNC:
            return loops or None
        bounds = spans(owner)
        if not bounds or any(span.trips == 0 for span in bounds):
            return None
        loops.append(owner)
    return None


def _problem(ends: Ends, size: Sum) -> str | None:
    """Return how far an index goes beyond an end of an axis of a size, in words."""
    if ends.low is not None and not ends.low.terms and ends.low.constant < 0:
        return f"{-ends.low.constant} below the start"
    excess = None if ends.high is None else ends.high.plus(size, -1)
    if excess is not None and not excess.terms and excess.constant >= 0:
        return f"{excess.constant + 1} beyond the end"
    return None


class _Sums:
    """The sums that indices and bounds are."""

    def __init__(self) -> None:
        self._forms = LinearForms()

    def ranges_of(self, loops: list[ir.Operation]) -> dict[Name, Ends] | None:
        """The ranges of the indices of loops around one another; None if the bounds of one are
        computed within another, where they may leave no iterations."""
        ranges: dict[Name, Ends] = {}
        for loop in loops:
            if any(self._is_computed_in(loops[-1], value) for b in bounds_of(loop) for value in b):
                return None
            ranges |= zip(loop.regions[0].blocks[0].arguments, map(self._range, bounds_of(loop)))
        return ranges

    def ends_of(self, index: ir.Value, ranges: dict[Name, Ends]) -> Ends:
        """The ends of an index where the indices of loops have ranges."""
        form = self._sum(index)
        return Ends(_end(form, ranges, upper=False), _end(form, ranges, upper=True))

    def _is_computed_in(self, loop: ir.Operation, value: ir.Value) -> bool:
        names = self._sum(value).names
        return any(isinstance(name, ir.Value) and is_defined_in(name, loop) for name in names)

    def _range(self, bounds: Bounds) -> Ends:
        step = constant_integer(bounds.step)
        low, behind = self._sum(bounds.lower), self._sum(bounds.upper)
        length = behind.plus(low, -1)
        if step == 1:
            return Ends(low, behind.plus(number(-1)))
        if step is None or length.terms:
            return Ends(low, None)
        return Ends(low, low.plus(number((length.constant - 1) // step * step)))

    def _sum(self, value: ir.Value) -> Sum:
        form = self._forms.form_of(value)
        return form.substitute({leaf: unknown(_name(leaf)) for leaf in form.names})


def _name(leaf: ir.Value) -> Name:
    op = defining_op(leaf)
    if op is None or not DimOp.holds(op):
        return leaf
    return array_root(op.operands[0]), ir.IntegerAttr(op.attributes["axis"]).value


def _end(form: Sum, ranges: dict[Name, Ends], *, upper: bool) -> Sum | None:
    ends: dict[Name, Sum] = {}
    for name, factor in form.terms:
        low, high = ranges.get(name, Ends(unknown(name), unknown(name)))
        end = high if upper == (factor > 0) else low
        if end is None:
            return None
        ends[name] = end
    return form.substitute(ends)
