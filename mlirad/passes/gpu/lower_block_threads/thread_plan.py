"""Arrays of a block that each thread has for itself, and arrays that all threads share."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from math import prod

import msgspec

from mlirad.bindings import ir
from mlirad.dialect.field import (
    GROUP,
    AllocaOp,
    array_of,
    element_type,
    is_access,
    is_array,
    is_atomic,
    is_load,
    is_store,
    split_access,
)
from mlirad.dialect.layout_rules import ELEMENT_SIZES
from mlirad.ir.gpu.blocks import MOST_THREADS, THREADS, has_threads
from mlirad.ir.ops import Func, Scf
from mlirad.ir.pure_operations import is_pure
from mlirad.ir.structured import For, Parallel, is_branch, is_for, is_while
from mlirad.ir.walk import (
    accesses,
    array_root,
    constant_integer,
    enclosing,
    has_uses,
    is_defined_in,
    operations,
    overlap_key,
)
from mlirad.passes.gpu.lower_block_threads.exchanges import is_exchange, segment_of

SHARED_BYTES = 48 << 10  # of a block, on every GPU
LOCAL_BYTES = 128  # of an array of a thread
_ENDS = (Scf.YIELD, Scf.CONDITION, Scf.REDUCE)


class Plan(msgspec.Struct, frozen=True, eq=False):
    """The threads of a block, the loops over them, the arrays of which each thread has an element
    to itself, or shows it to its group, and those that all share; `contested` are the roots of
    arrays that some threads change and others use."""

    size: int
    segments: list[For]
    private: list[ir.Operation]
    exchanged: list[ir.Operation]
    shared: list[ir.Operation]
    contested: frozenset[object]

    def meets(self, op: ir.Operation) -> bool:
        """Return whether an op, or one within it, touches memory that other threads of the block
        change, or use while it is changed."""
        roots = [root for _, root, _ in accesses(op)]
        if is_access(op):
            roots.append(array_root(split_access(op)[0]))
        return any(overlap_key(root) in self.contested for root in roots)


def plan_of(loop: ir.Operation) -> Plan | None:
    """The plan of a marked loop; None where its blocks are not run by threads."""
    mark, box = loop.attributes[THREADS], Parallel(loop)
    if not isinstance(mark, ir.IntegerAttr) or not 1 <= mark.value <= MOST_THREADS:
        return None
    size = mark.value
    if len(box.indices) != 1:
        return None
    if [constant_integer(box.lower[0]), constant_integer(box.steps[0])] != [0, 1]:
        return None
    segments = list(_segments(loop))
    common = [op for op in operations(loop) if not _is_within(op, segments, loop)]
    arrays = [op for op in common if AllocaOp.holds(op)]
    if not all(map(_may_be_repeated, common)) or not all(map(_fits, segments)):
        return None
    if any(constant_integer(segment.op.operands[1]) != size for segment in segments):
        return None
    private = [op for op in arrays if _is_own(op)]
    exchanged = [op for op in arrays if op not in private and size % GROUP == 0 and is_exchange(op)]
    shared = [op for op in arrays if op not in private and op not in exchanged]
    if sum(map(bytes_of, shared)) > SHARED_BYTES:
        return None
    hidden = {op.results[0] for op in (*private, *exchanged)}
    contested = frozenset(_contested(loop, segments, hidden))
    return Plan(size, segments, private, exchanged, shared, contested)


def bytes_of(array: ir.Operation) -> int:
    """The size of an array of the block."""
    type_ = array.results[0].type
    return ELEMENT_SIZES[str(element_type(type_))] * prod(array_of(type_)[1])


def _segments(loop: ir.Operation) -> Iterator[For]:
    return (For(op) for op in operations(loop) if is_for(op) and has_threads(op))


def _is_within(op: ir.Operation, segments: list[For], loop: ir.Operation) -> bool:
    """Return whether an operation is a segment, or in one."""
    tops = [segment.op for segment in segments]
    while op != loop:
        if op in tops:
            return True
        op = enclosing(op)
    return False


def _may_be_repeated(op: ir.Operation) -> bool:
    """Return whether all threads of a block may do what was done once for the block."""
    if op.name in _ENDS or is_for(op) or is_while(op) or is_branch(op):
        return True
    return is_pure(op) or is_load(op) or AllocaOp.holds(op) or _makes_array(op)


def _makes_array(op: ir.Operation) -> bool:
    return len(op.results) == 1 and is_array(op.results[0].type)


def _fits(segment: For) -> bool:
    """Return whether a thread of the machine may run the body of a loop over threads."""
    if len(segment.op.results):
        return False
    for op in operations(segment.op):
        if op.name.startswith("grad.") or has_threads(op):
            return False
        if op.name == Func.CALL and any(is_array(value.type) for value in op.operands):
            return False
        if AllocaOp.holds(op) and bytes_of(op) > LOCAL_BYTES:
            return False
    return True


def _is_own(array: ir.Operation) -> bool:
    """Return whether each thread loads and stores its private element of an array, and no other."""
    for use in array.results[0].uses:
        op = use.owner.operation
        if not (is_load(op) or is_store(op)):
            return False
        segment = segment_of(op)
        if segment is None or list(split_access(op)[1]) != [segment.induction]:
            return False
    return True


def _contested(
    loop: ir.Operation, segments: list[For], hidden: Collection[ir.Value]
) -> Iterator[object]:
    """The roots of arrays that segments write, but for what is only added to."""
    written, used = set[object](), set[object]()
    for op, root, _ in accesses(loop):
        if root in hidden or _is_of_thread(root, segments):
            continue
        if is_atomic(op) and not has_uses(op.results[0]):
            written.add(overlap_key(root))
            continue
        used.add(overlap_key(root))
        if not is_load(op):
            written.add(overlap_key(root))
    return iter(written & used)


def _is_of_thread(root: object, segments: list[For]) -> bool:
    return isinstance(root, ir.Value) and any(is_defined_in(root, s.op) for s in segments)
