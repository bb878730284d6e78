"""Replace kernels by a check that different iterations of their parallel loops do not meet where a
derivative passes.

Of a kernel stays what computes where the accesses go that are left open (`races/collisions.py`):
indices, conditions and loops. It runs several times. In the first runs every iteration marks the
elements of some accesses as its own, in memory as large as the array (`owners`); in the last the
others look whose they are, and assert that they are theirs. Arrays that the kernel writes and reads
on the way, and that the derivative finds as they were before, are written in each run and given
back.

Assumes the verdicts of `check-access-rules`, or, with `tangents`, memory as it was before the
launch.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from mlirad.analysis.races.collisions import Pair, find_open
from mlirad.analysis.races.deactivations import cure
from mlirad.analysis.races.slice import Slice
from mlirad.bindings import ir
from mlirad.dialect.field import ClockOp, acts, array_of, split_access
from mlirad.ir import build as b
from mlirad.ir.graph import Graph, Node
from mlirad.ir.reports.remarks import shown_array
from mlirad.ir.requirements import KERNELS, is_private, refuse
from mlirad.ir.walk import (
    at_end,
    before,
    block_operations,
    entry_of,
    functions,
    has_uses,
    operations,
)
from mlirad.passes.derivative.insert_collision_checks.marks import Marks
from mlirad.passes.derivative.insert_collision_checks.owners import Owner, Owners
from mlirad.sweeps.stash import Stash

REQUIRES = KERNELS

_MOST = 1 << 34  # elements
_ACCESS, _KEPT = "grad.access", "grad.kept"


def insert_collision_checks(module: ir.Operation, *, tangents: bool = False) -> None:
    """Replace every public function by a check that iterations do not collide, for accesses for
    which this is not proved."""
    for function in functions(module):
        if not is_private(function):
            _replace(module, function, tangents)


def _replace(module: ir.Operation, function: ir.Operation, tangents: bool) -> None:
    unsettled = find_open(module, function, tangents=tangents)
    graph = unsettled.collisions.graph
    pairs = [*unsettled.pairs]
    for pair in pairs:
        _check_size(pair)
    owners = Owners(graph, unsettled.collisions, pairs).choose()
    accesses = list(
        dict.fromkeys(node for owner in owners for node in (*owner.markers, *owner.lookers))
    )
    reached = Slice(graph, accesses, unsettled.done)
    _refuse_clocks(graph, reached)
    for number, node in enumerate(accesses):
        node.op.attributes[_ACCESS] = ir.IntegerAttr.get(b.integer_type(64), number)
    for node in reached.writes:
        node.op.attributes[_KEPT] = ir.UnitAttr.get()
    numbers = {node: number for number, node in enumerate(accesses)}
    check = _empty_like(function)
    with before(block_operations(entry_of(check))[-1]):
        stash = Stash(list(entry_of(check).arguments), graph, reached.writes)
        marks = [Marks(graph, owner, numbers, list(entry_of(check).arguments)) for owner in owners]
    for run in _runs(owners):
        _add_run(function, check, run, marks)
        with before(block_operations(entry_of(check))[-1]):
            stash.give_back()
    with before(block_operations(entry_of(check))[-1]):
        stash.free()
        for mark in marks:
            mark.free()
    function.erase()


def _refuse_clocks(graph: Graph, reached: Slice) -> None:
    """Refuse accesses that a clock leads to: the check would read another time than the kernel."""
    for value in reached.values:
        node = graph.defined[value]
        if isinstance(node, Node) and ClockOp.holds(node):
            refuse(
                node.op,
                "whether iterations of the parallel loop meet depends on this clock, which says "
                "something else when that is checked: store what it says in a field, and read "
                "that in another kernel",
            )


def _check_size(pair: Pair) -> None:
    """Refuse a check with a mark for each of more elements than it could go through."""
    array, _ = split_access(pair.write.op)
    if prod(array_of(array.type)[1]) > _MOST:
        refuse(
            pair.write.op,
            f"{shown_array(pair.write.array)} is too large to check that no other iteration of the "
            f"parallel loop touches this element: {cure(pair.node)}",
        )


def _runs(owners: Sequence[Owner]) -> list[str]:
    """Return the work of each run: elements are cleared in runs that check them without marking."""
    clears = any(node not in owner.markers for owner in owners for node in owner.lookers)
    return (
        ["clear"] * clears
        + ["mark"]
        + ["note"] * any(owner.is_shared for owner in owners)
        + ["look"]
    )


def _empty_like(function: ir.Operation) -> ir.Operation:
    """A function with the same arguments, and no results, in front of another."""
    inputs = [argument.type for argument in entry_of(function).arguments]
    check = b.function_like(function, inputs, [])
    with at_end(entry_of(check), function.location):
        b.return_()
    return check


def _add_run(function: ir.Operation, check: ir.Operation, run: str, marks: Sequence[Marks]) -> None:
    """Put a copy of a function's body at the end of the check, with what is done in this run for
    its effects."""
    with ir.InsertionPoint(function):
        copy = function.clone()
    effects = [op for op in operations(copy) if acts(op) or _ACCESS in op.attributes]
    accesses = {
        ir.IntegerAttr(op.attributes[_ACCESS]).value: op
        for op in effects
        if _ACCESS in op.attributes
    }
    for mark in marks:
        mark.add(run, accesses)
    for op in effects:
        if _ACCESS in op.attributes:
            del op.attributes[_ACCESS]
        if _KEPT in op.attributes:
            del op.attributes[_KEPT]
        elif acts(op):
            _drop(op)
    for old, new in zip(entry_of(copy).arguments, entry_of(check).arguments):
        old.replace_all_uses_with(new)
    terminator = block_operations(entry_of(check))[-1]
    for op in block_operations(entry_of(copy))[:-1]:
        op.move_before(terminator)
    copy.erase()


def _drop(op: ir.Operation) -> None:
    """Erase an effect; nothing that is computed uses its result."""
    with before(op):
        for result in op.results:
            if has_uses(result):
                result.replace_all_uses_with(b.number(0, result.type))
    op.erase()
