"""Let the host know the size of every stack and log before the loop that fills it, for machines
whose kernels allocate nothing.

Before: `grad.alloc` takes the trips of a loop, wherever they are computed, `grad.open` nothing.
After: both take numbers that stand at the top of the function and that the host knows (but for
stacks that are themselves made at the top). What is arithmetic on such numbers is computed there.
For the rest, a copy of the loop runs first, of which only stays what computes sizes, and leaves the
largest over all iterations in a cell; where it has to pop from other stacks, these are sized
before. Where a size depends on what the loop itself writes, branches count as taken, and a range
that is left by `break` to its end. Where that does not do, the copy writes as well. A log is as
long as the first run of the loop makes it, which is copied without what goes back, and memory is
then given back from copies of its arrays. Other sizes may depend on memory that has gone back: what
changes it is copied with all that undoes it, but for loops and branches that are reversed in front
(they leave memory as it was, which what is in the logs does, too), and so leaves memory as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mlirad.bindings import ir
from mlirad.dialect import field, grad
from mlirad.dialect.field import array_type
from mlirad.dialect.grad import AllocOp, OpenOp, log_parts
from mlirad.errors import TaichiCompilationError
from mlirad.ir import build as b
from mlirad.ir.gpu.host_values import HostValues
from mlirad.ir.graph import BlockNode, Graph, Node
from mlirad.ir.ops import Func
from mlirad.ir.reductions import REDUCE_MARK
from mlirad.ir.reports.location import nearest_location
from mlirad.ir.requirements import KERNELS, is_private, refuse
from mlirad.ir.structured import is_parallel
from mlirad.ir.walk import (
    attributes_of,
    before,
    constant_integer,
    enclosing,
    functions,
    has_uses,
    operations,
    replace,
)
from mlirad.passes.gpu.insert_size_counts.memory_changes import Way
from mlirad.passes.gpu.insert_size_counts.size_copy import SizeCopy
from mlirad.passes.gpu.insert_size_counts.size_slice import Conflict, SizeSlice
from mlirad.sweeps.stash import Stash

REQUIRES = KERNELS


def insert_size_counts(module: ir.Operation) -> None:
    """Let the host know the sizes of stacks and logs; sizes that it cannot compute are counted by a
    loop."""
    for function in functions(module):
        if not is_private(function):
            _compute(function)
            while _count_some(function):
                pass


def _compute(function: ir.Operation) -> None:
    """Have the host compute the sizes that it can; a log that nobody uses is not there."""
    host = HostValues(function)
    for op in _unsized_sites(function):
        if OpenOp.holds(op) and not has_uses(op.results[0]):
            op.erase()
        elif AllocOp.holds(op) and host.can_compute(op.operands[0]):
            op.operands[0] = host.compute(op.operands[0], _top(op))


def _unsized_sites(function: ir.Operation) -> list[ir.Operation]:
    """The stacks and logs whose size the host does not know yet."""
    host = HostValues(function)
    return [
        op
        for op in operations(function)
        if (OpenOp.holds(op) and not op.operands)
        or (
            AllocOp.holds(op)
            and enclosing(op) != function
            and constant_integer(op.operands[0]) is None
            and not host.knows(op.operands[0])
        )
    ]


def _top(op: ir.Operation) -> ir.Operation:
    """The op at the top of a function that another stands in."""
    while enclosing(op).name != Func.FUNC:
        op = enclosing(op)
    return op


def _count_some(function: ir.Operation) -> bool:
    """Size what can be sized by one more copy; False if all is sized."""
    unsized = _unsized_sites(function)
    if not unsized:
        return False
    graph = Graph(function)
    nodes = {node.op: node for node in graph.nodes()}
    sites = [nodes[op] for op in unsized]
    groups = _group_sites(sites)
    for is_patient in (True, False):
        plans = [_plan(graph, group[0], set(sites), is_patient=is_patient) for group in groups]
        plan = next((plan for plan in plans if plan is not None), None)
        if plan is not None:
            same = [site for group, other in zip(groups, plans) if other == plan for site in group]
            size_slice = SizeSlice(graph, plan.span, same, plan.way)
            _size(same, _count_sizes(graph, plan.span, size_slice, same), plan.span[0].op)
            return True
    refuse(unsized[0], "a size that depends on what is kept in memory of that size")
    return False


def _group_sites(sites: Sequence[Node]) -> list[list[Node]]:
    """Stacks of one size in one place together, and each log for itself."""
    groups: dict[tuple[Node | BlockNode | int, ...], list[Node]] = {}
    for site in sites:
        key: tuple[Node | BlockNode | int, ...] = (site,)
        if AllocOp.holds(site):
            key = (site.block, *site.operands)
        groups.setdefault(key, []).append(site)
    return list(groups.values())


class _Plan(NamedTuple):
    """The ops at the top of the function that a copy is made of, and its way with memory."""

    span: list[Node]
    way: Way


def _plan(graph: Graph, site: Node, unsized: set[Node], *, is_patient: bool) -> _Plan | None:
    """Return how to size a stack or a log now; None if that needs others, or to the `patient`,
    where others make it cheaper."""
    conflicts: list[Conflict] = []
    waits = False
    for plan in _plans(graph, site):
        size_slice = SizeSlice(graph, plan.span, [site], plan.way)
        conflicts += size_slice.conflicts
        if not size_slice.conflicts and not size_slice.memory & unsized:
            return plan
        waits |= not size_slice.conflicts
        if waits and is_patient:
            return None
    if not waits:
        _refuse(site, conflicts[0])
    return None


def _plans(graph: Graph, site: Node) -> Iterator[_Plan]:
    """Yield what may do, the cheapest first."""
    alone = [site.owners[0]] if site.owners else _span_of_logs(graph)
    for way in (Way.READING, Way.BOUNDED, Way.WRITING):
        yield _Plan(alone, way)
    if OpenOp.holds(site):
        yield _Plan(alone, Way.FIRST)
    else:
        wide = _span_of_logs(graph)
        yield _Plan(wide if alone[0] in wide else alone, Way.UNDOING)


def _span_of_logs(graph: Graph) -> list[Node]:
    """Return what stands at the top of the function behind the first use of its logs, up to the
    last."""
    body = graph.body.nodes
    logs = {node.results[0] for node in body if OpenOp.holds(node)}
    uses = [
        position
        for position, top in enumerate(body)
        if any(logs.intersection(node.operands) for node in (top, *top.walk()))
    ]
    return body[uses[0] : uses[-1] + 1] if uses else []


def _refuse(site: Node, conflict: Conflict) -> None:
    load, change = conflict
    place = nearest_location(change.op)
    line = "" if place is None else f", at line {place.line}"
    name = f"field '{load.array}'" if isinstance(load.array, str) else "an array"
    raise TaichiCompilationError(
        f"GPU code: how much memory the derivative of this loop needs depends on {name}, "
        f"which the kernel overwrites{line}: it cannot be counted before",
        nearest_location(site.op),
    )


# The copy.


def _count_sizes(
    graph: Graph, span: Sequence[Node], size_slice: SizeSlice, sites: Sequence[Node]
) -> list[ir.Value]:
    """The sizes of stacks and logs, known to the host in front of what they are used in."""
    with before(span[0].op):
        stash = Stash([graph.values[v] for v in graph.body.arguments], graph, size_slice.written)
        if is_parallel(span[0]):
            sizes = _count_over_iterations(graph, span[0], size_slice, sites)
        else:
            slots = [b.slot(b.index_type()) for _ in sites]
            copy = SizeCopy(graph, size_slice, dict(zip(sites, slots)))
            env = copy.open_outer_logs()
            for top in span:
                copy.node(top, env)
            sizes = [b.read(slot) for slot in slots]
        stash.give_back()
        stash.free()
        return field.fetch(sizes)


def _count_over_iterations(
    graph: Graph, loop: Node, size_slice: SizeSlice, sites: Sequence[Node]
) -> list[ir.Value]:
    i64, rank = b.integer_type(64), len(loop.blocks[0].arguments)
    cells = [field.alloca(array_type(i64, [])) for _ in sites]
    lower, upper, steps = (list(loop.op.operands)[k * rank : (k + 1) * rank] for k in range(3))
    counting = b.parallel_loop(lower, upper, steps, attributes_of(loop.op))
    with ir.InsertionPoint(counting.body):
        slots = [b.slot(b.index_type()) for _ in sites]
        copy = SizeCopy(graph, size_slice, dict(zip(sites, slots)))
        copy.block(loop.blocks[0], dict(zip(loop.blocks[0].arguments, counting.indices)))
        for number, (slot, cell) in enumerate(zip(slots, cells)):
            word = b.index_cast(b.read(slot), i64)
            field.atomic(
                word, cell, kind="max", marks={REDUCE_MARK: ir.IntegerAttr.get(i64, number)}
            )
        b.end_parallel()
    return [b.to_index(field.load(cell)) for cell in cells]


def _size(sites: Sequence[Node], sizes: Sequence[ir.Value], first: ir.Operation) -> None:
    """Give stacks and logs their sizes, which are known in front of the first op that uses them."""
    for site, size in zip(sites, sizes):
        if AllocOp.holds(site):
            site.op.operands[0] = size
            continue
        with before(site.op if site.owners else first):
            log = grad.open_(*log_parts(site.op.results[0].type), [size])
        replace(site.op, [log])
