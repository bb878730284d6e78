"""Accesses that mark an element as their own, and accesses that check the mark, so that every pair
of accesses left open is checked.

Of a pair, one access marks. It is one of which different iterations do not meet, or are refused
where they do: then an element has one owner. Where neither is (sums, and loads of what is added
to), a second iteration that marks an element is noted beside the first.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import msgspec

from mlirad.analysis.races.collisions import Collisions, Pair
from mlirad.errors import TaichiCompilationError
from mlirad.ir.graph import Graph, Node
from mlirad.ir.ops import Arith
from mlirad.ir.reports.location import source_location
from mlirad.ir.structured import is_serial_loop
from mlirad.ir.walk import constant_integer

# What may be computed where the program does not: a division might be by 0.
HARMLESS = (
    Arith.CONSTANT,
    Arith.INDEX_CAST,
    Arith.EXTSI,
    Arith.TRUNCI,
    Arith.ADDI,
    Arith.SUBI,
    Arith.MULI,
)


class Owner(msgspec.Struct):
    """Marks on the elements of one array: `axes` are those that the loop moves along in the
    accesses that mark.

    `is_shared` where several iterations may mark an element.
    """

    loop: Node
    markers: list[Node]
    lookers: list[Node]
    axes: list[int]
    is_shared: bool


class Owners:
    """Chooses, for the open pairs of one function."""

    def __init__(self, graph: Graph, collisions: Collisions, pairs: Sequence[Pair]) -> None:
        self.graph, self.collisions, self.pairs = graph, collisions, pairs
        self.open = {(pair.node, pair.write) for pair in pairs} | {
            (pair.write, pair.node) for pair in pairs
        }

    def choose(self) -> list[Owner]:
        """The owners to note, each once: those of the components of a vector are the same."""
        for pair in self.pairs:
            if any(is_serial_loop(owner) for owner in pair.loop.owners):
                raise TaichiCompilationError(
                    "a parallel loop within another loop", source_location(pair.loop.op.location)
                )
        lookers: dict[Node, list[Node]] = {}
        loops = {pair.write: pair.loop for pair in self.pairs} | {
            pair.node: pair.loop for pair in self.pairs
        }
        for pair in self.pairs:
            marker = self._marker(pair, lookers)
            lookers.setdefault(marker, []).append(pair.write if marker is pair.node else pair.node)
        owners: dict[Hashable, Owner] = {}
        for marker, nodes in lookers.items():
            loop = loops[marker]
            axes = [
                axis
                for axis, index in enumerate(marker.indices)
                if not is_outside(self.graph, index, loop)
            ]
            owner = Owner(loop, [marker], nodes, axes, not self._is_exact(marker, loop))
            owners.setdefault(self._key(owner), owner)
        return self._merge(list(owners.values()))

    def _is_exact(self, node: Node, loop: Node) -> bool:
        """Return whether an element is touched by one iteration, or else refused."""
        return (node, node) in self.open or self.collisions.are_apart(node, node, loop)

    def _marker(self, pair: Pair, chosen: dict[Node, list[Node]]) -> Node:
        ends = pair.write, pair.node
        fit = [node for node in ends if self._is_exact(node, pair.loop)] or ends
        return next((node for node in fit if node in chosen), fit[0])

    def _key(self, owner: Owner) -> Hashable:
        """Return a key of owners: those of components have the same indices except for equal
        constants."""
        marker = owner.markers[0]
        return (
            marker.array,
            self._place(marker, marker),
            frozenset(self._place(looker, marker) for looker in owner.lookers),
        )

    def _place(self, node: Node, marker: Node) -> Hashable:
        numbers = [
            (self._index(index), self._index(marker_index))
            for index, marker_index in zip(node.indices, marker.indices)
        ]
        return node.block, tuple(
            [
                None if index == marker_index and isinstance(index, str) else index
                for index, marker_index in numbers
            ]
        )

    def _index(self, index: int) -> int | str:
        constant = constant_integer(self.graph.values[index])
        return index if constant is None else str(constant)

    def _merge(self, owners: list[Owner]) -> list[Owner]:
        """Owners noted in the same memory where all that meet there would be refused."""
        merged: list[Owner] = []
        for new in owners:
            target = next((old for old in merged if self._fit(old, new)), None)
            if target is None:
                merged.append(new)
            else:
                target.markers += new.markers
                target.lookers += [node for node in new.lookers if node not in target.lookers]
        return merged

    def _fit(self, old: Owner, new: Owner) -> bool:
        """Return whether whoever looks at marks of the one would be refused by those of the other
        too, or never sees them; where an element has one owner, whoever marks it too."""
        left, right = old.markers[0], new.markers[0]
        if (
            old.loop is not new.loop
            or old.is_shared != new.is_shared
            or old.axes != new.axes
            or left.array != right.array
            or (old.is_shared and left.name != right.name)
            or any(
                self._index(left.indices[axis]) != self._index(right.indices[axis])
                for axis in range(len(left.indices))
                if axis not in old.axes
            )
        ):
            return False
        lookers = [*old.lookers, *new.lookers]
        return all(
            (marker, node) in self.open or self.collisions.are_apart(marker, node, old.loop)
            for marker in (*old.markers, *new.markers)
            for node in (lookers if old.is_shared else [*old.markers, *new.markers, *lookers])
        )


def is_outside(graph: Graph, index: int, loop: Node) -> bool:
    """Return whether an index is the same in all of a loop: arithmetic on what is outside of it."""
    if graph.depth_of(index) <= loop.block.depth:
        return True
    node = graph.defined[index]
    return (
        isinstance(node, Node)
        and node.name in HARMLESS
        and all(is_outside(graph, operand, loop) for operand in node.operands)
    )
