"""Refuse kernels to differentiate whose parallel iterations feed one another, or overwrite each
other's results.

Refused are accesses whose affine indices show that different iterations meet in one element, where
a derivative passes; or, where indices have other forms, of which some iterations that were tried do
(`analysis/races/witness.py`). Conditions and loops around them are taken to run in both iterations,
unless they exclude one another (`analysis/races/guards.py`); a loop whose length is not known while
compiling is taken to be long enough. What is not decided here is checked when a derivative is taken
(`mark-collisions`). The kernel itself gives then what the order of iterations makes it give, and a
gradient would be that of another order.
"""

from __future__ import annotations

from typing import NoReturn

from mlirad.analysis.derivatives.activity import Activity, activity_of
from mlirad.analysis.races.deactivations import cure
from mlirad.analysis.races.overwrite import Neighbours, Place, overwrites_of
from mlirad.analysis.races.witness import Iteration, Witness
from mlirad.analysis.trips import certainly_runs
from mlirad.bindings import ir
from mlirad.dialect.field import AllocaOp, is_load, is_store, replaces, split_access
from mlirad.errors import of_accesses
from mlirad.ir.graph import Node
from mlirad.ir.reports.location import source_location
from mlirad.ir.reports.remarks import shown_array
from mlirad.ir.requirements import KERNELS, is_private
from mlirad.ir.structured import is_parallel
from mlirad.ir.walk import Array, functions

REQUIRES = KERNELS
ONLY_MARKS = True


def check_races(module: ir.Operation) -> None:
    """Refuse to differentiate parallel loops whose iterations certainly pass derivatives to each
    other."""
    for function in functions(module):
        if not is_private(function):
            check = _Check(activity_of(module, function))
            for loop in check.graph.nodes():
                if is_parallel(loop):
                    check.loop(loop)


class _Check:
    def __init__(self, activity: Activity) -> None:
        self.graph, self.activity = activity.graph, activity
        self.overwrites = overwrites_of(self.graph)
        self.witness = Witness(self.graph)

    def loop(self, loop: Node) -> None:
        """Refuse a loop in which a load or a store meets a store, or a load an atomic, of another
        iteration."""
        shared = [node for node in loop.walk() if node.is_access and self._is_shared(node, loop)]
        writes: dict[Array, list[Node]] = {}
        for node in shared:
            if not is_load(node):
                writes.setdefault(node.array, []).append(node)
        near = {array: Neighbours(self.overwrites, nodes) for array, nodes in writes.items()}
        for node in shared:
            if node.array not in near or not self._may_carry(node):
                continue
            for write in near[node.array].near(node):
                if not self._carries(node, write):
                    continue
                where, is_decided = self.overwrites.judge(node, write)
                if where is Place.OTHER_ITERATION:
                    _refuse(node, write, all(_is_certain(access, loop) for access in (node, write)))
                if (
                    not is_decided
                    and (iterations := self.witness.find(node, write, loop)) is not None
                ):
                    _refuse(node, write, True, iterations)

    def _may_carry(self, node: Node) -> bool:
        """Return whether a derivative may pass where an access meets a write."""
        if is_load(node):
            return node.results[0] in self.activity.active
        return replaces(node.op) and self.activity.is_differentiable(node)

    def _carries(self, node: Node, write: Node) -> bool:
        """Return whether one does, for an access by which it may."""
        varied = self.activity.varied
        return is_load(node) or any(w.operands[0] in varied for w in (node, write))

    def _is_shared(self, node: Node, loop: Node) -> bool:
        """Return whether iterations share the memory of an access."""
        value = self.graph.values[node.array_value]
        return (
            isinstance(value, ir.BlockArgument)
            or not AllocaOp.holds(value.owner.operation)
            or self.graph.depth_of(node.array_value) <= loop.block.depth
        )


def _is_certain(node: Node, loop: Node) -> bool:
    """Return whether an access runs in every iteration."""
    return all(certainly_runs(owner.op) for owner in node.owners_within(loop))


def _format(iteration: Iteration) -> str:
    return str(iteration[0]) if len(iteration) == 1 else str(iteration)


def _how(write: Node) -> str:
    return "written here without an atomic" if is_store(write) else "replaced here"


def _sum_instead(node: Node, write: Node) -> str:
    """Return a hint for one element that all iterations write, which may be meant as a sum."""
    if not is_store(write) or [*split_access(node.op)[1]] != [*split_access(write.op)[1]]:
        return ""
    return "write `+=`, which is atomic, to add up what iterations compute; otherwise "


def _refuse(
    node: Node, write: Node, is_certain: bool, iterations: tuple[Iteration, Iteration] | None = None
) -> NoReturn:
    may = "" if is_certain else "may be "
    reason = (
        f"is read here and {may}written by another iteration of the same parallel loop"
        if is_load(node)
        else f"is {_how(node)}, and {may}by another iteration of the same parallel loop as well"
    )
    example = (
        ""
        if iterations is None
        else f" (iterations {_format(iterations[0])} and {_format(iterations[1])})"
    )
    message = (
        f"{shown_array(node.array)} {reason}{example}, so its gradient is not defined: "
        f"{_sum_instead(node, write)}{cure(node)}"
    )
    places = [
        place
        for access in (node, write)
        if (place := source_location(access.op.location)) is not None
    ]
    if len(places) == 2 and places[0] == places[1]:
        places.pop()
    raise of_accesses(message, places)
