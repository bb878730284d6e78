"""The cost of loops, with and without lanes: an estimated number of instructions, weighted.

The one place that decides what pays. Without lanes, innermost loops become vector code where LLVM's
vectorizer sees it: all addresses go on in steps, nothing is repeated until a condition holds, and
what the loop carries are sums that may be taken in another order, maxima or minima.
"""

from __future__ import annotations

from functools import lru_cache, partial
from itertools import islice
from typing import TYPE_CHECKING

from mlirad.analysis.lanes.lane_meetings import Meetings, are_vector_sums, is_free
from mlirad.analysis.lanes.steps import accessed_element, address_step, spread_over
from mlirad.analysis.lanes.strides import Strides
from mlirad.analysis.linear import linear_form
from mlirad.analysis.trips import UNKNOWN, spans
from mlirad.bindings import ir
from mlirad.ir.elementary.table import INSTRUCTIONS
from mlirad.ir.marks.rounding import is_bound
from mlirad.ir.ops import Arith, Math, Memref, Scf
from mlirad.ir.pure_operations import is_integer_division
from mlirad.ir.structured import (
    For,
    StructuredOp,
    is_branch,
    is_for,
    is_serial_loop,
    is_while,
    runs_in_any_order,
)
from mlirad.ir.walk import block_operations, defining_op, operations

if TYPE_CHECKING:  # for loops that may run in lanes alone
    from mlirad.analysis.lanes.groups import Groups

MANY = 1024  # iterations that a part of a parallel loop is expected to have
_DEAR = {Arith.DIVF: 5.0, Math.SQRT: 6.0, Math.RSQRT: 6.0, Arith.REMF: 30.0}
_AROUND = 4  # ops of a loop that do not count beside one in it
_FUNCTION, _DIVISION, _BRANCH, _TEST = 25.0, 12.0, 4.0, 4.0
# LLVM takes several vectors of an innermost loop at once: of long bodies it keeps values in memory
_IN_REGISTERS, _SPILLED = 64, 0.25
LONG = 600  # ops in a body
_TOLD = 16  # places of an array that LLVM knows to be apart
_AT_ONCE = 4  # vectors of a loop that LLVM takes
_ROW = 2.5  # a lane's part in loading rows, or storing them, as columns
_UPDATED_ROW = 5.0  # where rows are loaded, combined with columns, and stored
_FREE = (Arith.CONSTANT, Arith.INDEX_CAST, Scf.YIELD, Scf.CONDITION)


def expected_trips(loop: ir.Operation) -> float:
    """Return how often a `for` is expected to run."""
    trips = spans(loop)[0].trips
    if trips is not None:
        return trips
    return MANY if runs_in_any_order(loop) else UNKNOWN


def is_function(op: ir.Operation) -> bool:
    """Return whether an op becomes a call of an elementary function."""
    name = op.name
    return name.startswith("math.") and name not in INSTRUCTIONS and name not in _DEAR


def op_cost(op: ir.Operation) -> float:
    """An op on one value, or on a vector register."""
    name = op.name
    if name in _FREE:
        return 0.0
    if name in _DEAR:
        return 1.0 if _is_by_root(op) else _DEAR[name]
    if is_function(op):
        return _FUNCTION
    if is_integer_division(op):
        return _DIVISION
    return 1.0


def _is_by_root(op: ir.Operation) -> bool:
    """Return whether an op is a quotient by a root, which has an estimate that all such share."""
    divisor = defining_op(op.operands[1]) if op.name == Arith.DIVF else None
    return divisor is not None and divisor.name == Math.SQRT and not is_bound(op)


class Scalar:
    """Costs of code without lanes, but for one loop that has some: `lanes` is what that costs."""

    def __init__(self, fast: bool, lane_width: int) -> None:
        self.fast, self.width = fast, lane_width
        self.replaced: dict[ir.Operation, float] = {}
        self._left_to_llvm: dict[ir.Operation, float | None] = {}
        self._strides: dict[ir.Operation, Strides] = {}

    def strides(self, loop: ir.Operation) -> Strides:
        """The strides along a loop."""
        if loop not in self._strides:
            self._strides[loop] = Strides(loop)
        return self._strides[loop]

    def block(self, block: ir.Block) -> float:
        """All ops of a block."""
        return sum(self.op(op) for op in block_operations(block))

    def op(self, op: ir.Operation) -> float:
        """One op, with what it holds."""
        if op in self.replaced:
            return self.replaced[op]
        if is_for(op):
            return self.loop(op)
        inside = sum(self.block(block) for block in StructuredOp(op).blocks) if op.regions else 0.0
        if is_while(op):
            return UNKNOWN * (inside + 1)
        if is_branch(op):
            return inside / 2 + _BRANCH if _has_work(op) else inside + 1
        return op_cost(op)

    def loop(self, op: ir.Operation) -> float:
        """All iterations of a `for`."""
        trips = expected_trips(op)
        cost = trips * (self.block(For(op).body) + 1.0)
        if is_long(op) or any(map(is_serial_loop, operations(op))):
            return cost
        if op not in self._left_to_llvm:
            self._left_to_llvm[op] = self._vectorized_cost(op)
        by_llvm = self._left_to_llvm[op]
        return cost if by_llvm is None else min(cost, by_llvm)

    def is_left_to_llvm(self, nest: ir.Operation) -> bool:
        """Return whether all of a nest is one innermost loop and those parallel ones around it, and
        LLVM's vectorizer does well there: everything lies side by side."""
        while True:
            ops = block_operations(For(nest).body)
            inner = [op for op in ops if is_serial_loop(op)]
            if not inner:
                break
            if len(inner) > 1 or not runs_in_any_order(inner[0]) or len(ops) > len(inner) + _AROUND:
                return False
            nest = inner[0]
        if expected_trips(nest) < self.width or is_long(nest):
            return False
        if self._left_over(nest) > self.width:
            return False
        if any(map(is_while, operations(nest))):
            return False
        strides = self.strides(nest)
        return _is_regular(nest, strides, self.fast) and not any(
            is_far(op, strides) for op in strides.non_arithmetic
        )

    def _left_over(self, loop: ir.Operation) -> float:
        """Return how many trips LLVM leaves to scalar code."""
        trips, most = expected_trips(loop), _AT_ONCE * self.width
        return trips % (most if trips >= most else self.width)

    def _vectorized_cost(self, op: ir.Operation) -> float | None:
        """Return the cost of an innermost loop as LLVM vectorizes it; None if LLVM does not."""
        trips = expected_trips(op)
        if trips < self.width:
            return None
        strides = self.strides(op)
        if not _is_regular(op, strides, self.fast):
            return None
        if not runs_in_any_order(op) and _reads_what_it_stores(strides):
            return None
        if _has_many_places(strides):
            return None
        left = self._left_over(op)
        vectors = (trips - left) // self.width
        remaining_cost = left * self.block(For(op).body)
        vector_cost = Lanes(strides, Meetings(strides, self.fast), self.width).block(For(op).body)
        vector_cost += _SPILLED * max(0, len(block_operations(For(op).body)) - _IN_REGISTERS)
        return vectors * (vector_cost + 0.5) + remaining_cost + 6.0 + 8.0 * len(op.results)


def is_long(loop: ir.Operation) -> bool:
    """Return whether LLVM's vectorizer, which takes time by the square of a body's length, would be
    what compiling waits for."""
    return next(islice(operations(loop), LONG, None), None) is not None


def is_smooth(strides: Strides) -> bool:
    """Return whether all of a body is cheap with masks: no loops, elements side by side."""
    for op in strides.non_arithmetic:
        if (op.regions and not is_branch(op)) or is_far(op, strides):
            return False
        if op.name == Memref.STORE and address_step(
            strides, op.operands[1], list(op.operands)[2:]
        ) not in (0, 1):
            return False
    return True


def _has_work(op: ir.Operation) -> bool:
    """Return whether a branch is likely to become a jump."""
    return any(inner.name == Memref.STORE or inner.regions for inner in operations(op)) or (
        sum(1 for _ in operations(op)) > 8
    )


def _has_many_places(strides: Strides) -> bool:
    """Return whether a loop accesses an array that it stores to at more places than LLVM is told
    never to meet (`mark-disjoint-accesses`), and lanes lie apart: it then compares address ranges,
    which overlap."""
    places_of: dict[ir.Value, set[tuple[ir.Value, ...]]] = {}
    stored = set()
    for op in strides.non_arithmetic:
        place = accessed_element(op)
        if place is not None and is_far(op, strides):
            memref, indices = place
            places_of.setdefault(memref, set()).add(tuple(indices))
            if op.name == Memref.STORE:
                stored.add(memref)
    return any(len(places_of[memref]) > _TOLD for memref in stored)


def _reads_what_it_stores(strides: Strides) -> bool:
    """Return whether iterations of a loop may load what earlier ones have stored."""
    stored: dict[ir.Value, list[list[ir.Value]]] = {}
    for op in strides.non_arithmetic:
        if op.name == Memref.STORE:
            stored.setdefault(op.operands[1], []).append(list(op.operands)[2:])
    return any(
        place != list(op.operands)[1:] and not _is_apart(place, list(op.operands)[1:], strides)
        for op in strides.non_arithmetic
        for place in (stored.get(op.operands[0], ()) if op.name == Memref.LOAD else ())
    )


def _is_apart(left: list[ir.Value], right: list[ir.Value], strides: Strides) -> bool:
    """Return whether indices that all iterations share differ by a number."""
    for index, other in zip(left, right):
        if strides.is_uniform(index) and strides.is_uniform(other):
            gap = linear_form(index).plus(linear_form(other), -1)
            if gap.constant and not gap.terms:
                return True
    return False


def _is_regular(op: ir.Operation, strides: Strides, fast: bool) -> bool:
    if not are_vector_sums(op, partial(is_free, may_reorder=fast)):
        return False
    for inner in strides.non_arithmetic:
        if inner.name == Memref.LOAD:
            if address_step(strides, inner.operands[0], list(inner.operands)[1:]) is None:
                return False
        elif inner.name == Memref.STORE:
            step = address_step(strides, inner.operands[1], list(inner.operands)[2:])
            if not step or inner.block != For(op).body:
                return False
        elif not inner.name.startswith("scf."):
            return False
    return True


def is_far(op: ir.Operation, strides: Strides) -> bool:
    """Return whether an op accesses memory lane by lane."""
    if op.name.startswith("memref.") and (op.regions or "atomic" in op.name):
        return True
    place = accessed_element(op)
    if place is None:
        return False
    memref, indices = place
    if memref in strides.private or all(map(strides.is_uniform, indices)):
        return False
    return address_step(strides, memref, indices) not in (1, 2, 3, 4)


def pages_at_once(strides: Strides, width: int) -> int:
    """Return in how many pages of memory lanes lie that have one each: at every step of a loop
    within, in all of them."""
    arrays = set()
    for op in strides.non_arithmetic:
        place = accessed_element(op)
        if place is not None:
            arrays.add(spread_over(strides, *place))
    return width * len(arrays - {None})


@lru_cache(maxsize=64)
def _is_wide(type_: ir.Type) -> bool:
    """Return whether a vector register holds half as many values of a type as of 32 bits."""
    if isinstance(type_, ir.IntegerType | ir.FloatType):
        return type_.width == 64
    return isinstance(type_, ir.IndexType)


class Lanes:
    """Costs of a vector of iterations. `page` is what a lane costs more where it accesses a page of
    memory that no other does."""

    def __init__(
        self,
        strides: Strides,
        meetings: Meetings,
        width: int,
        *,
        page: float = 0.0,
        groups: Groups | None = None,
    ) -> None:
        self.strides, self.meetings, self.width = strides, meetings, width
        self.page, self.groups = page, groups

    def block(self, block: ir.Block, masked: bool = False) -> float:
        """All ops of a block."""
        return sum(self.op(op, masked) for op in block_operations(block))

    def op(self, op: ir.Operation, masked: bool) -> float:
        """One op, with what it holds."""
        name = op.name
        if name in (Scf.FOR, Scf.WHILE, Scf.IF):
            return self._structured_cost(op, masked)
        if name in _FREE or op in self.meetings.combined:
            return 0.0
        if name in (Memref.LOAD, Memref.STORE):
            group = self.groups.group_of(op) if self.groups is not None and not masked else None
            if group is not None:
                row = _UPDATED_ROW if op in self.meetings.updates else _ROW
                return self.width * row / len(group.ops)
            if name == Memref.STORE:
                return self._store(op, masked)
            return self._access(op.operands[0], list(op.operands)[1:], masked, 1.0)
        if name.startswith("memref."):
            return self.width * (8.0 + 2.0 * masked)
        results = op.results  # of one stride
        if len(results) and self.strides.stride_of(results[0]) is not None:
            return op_cost(op)
        return self._vector(op)

    def _vector(self, op: ir.Operation) -> float:
        registers = 2.0 if any(_is_wide(v.type) for v in (*op.results, *op.operands)) else 1.0
        cost = op_cost(op)
        if is_integer_division(op):
            return cost * self.width / 2
        if op.name == Arith.CMPI and isinstance(op.operands[0].type, ir.IndexType):
            return 1.0
        return cost * registers

    def _access(
        self, memref: ir.Value, indices: list[ir.Value], masked: bool, lane_cost: float
    ) -> float:
        if memref in self.strides.private:
            is_gathered = any(self.strides.stride_of(index) is None for index in indices)
            step: int | None = None if is_gathered else 1
        else:
            step = address_step(self.strides, memref, indices)
        if step == 0 and all(map(self.strides.is_uniform, indices)):
            return 1.5
        if step == 1:
            return 1.0 + masked
        if step in (2, 3, 4) and not masked and lane_cost == 1.0:
            return 2.0 * step
        page = self.page if self.page and spread_over(self.strides, memref, indices) else 0.0
        return self.width * (1.4 * lane_cost + 0.6 * masked + page) + (step is None)

    def _store(self, op: ir.Operation, masked: bool) -> float:
        indices = list(op.operands)[2:]
        update = self.meetings.updates.get(op)
        if update is None:
            return self._access(op.operands[1], indices, masked, 1.3)
        if update.is_sum and all(map(self.strides.is_uniform, indices)):
            return 2.0 * (self.width.bit_length() - 1) + 4.0
        return self.width * (4.0 + 2.0 * masked)

    def _structured_cost(self, op: ir.Operation, masked: bool) -> float:
        divergent = self.strides.is_divergent(op)
        inside = sum(self.block(block, masked or divergent) for block in StructuredOp(op).blocks)
        if is_branch(op):
            if divergent:
                heavy = _has_work(op)
                return (0.75 * inside if heavy else inside) + len(op.results) + _TEST * heavy
            return inside / 2 + _BRANCH
        trips = expected_trips(op) if is_for(op) else UNKNOWN
        carried = len(op.results)
        return trips * (inside * (1.3 if divergent else 1.0) + 1.0 + 2.0 * divergent * carried)
