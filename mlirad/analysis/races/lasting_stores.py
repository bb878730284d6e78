"""Stores in fields from which the reverse of a launch may load values, instead of computing them
again.

A store serves if it runs whenever its value is computed, if its indices do not depend on the value,
and if nothing overwrites the element later in the launch. Between the launch and its reverse, other
launches may write to the field: the tape looks (`ad/recording/stored_values.py`), and runs the
reverse without stored values then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from math import prod

from mlirad.analysis.derivatives.needed import NeededValues
from mlirad.analysis.races.overwrite import Overwrites
from mlirad.analysis.trips import spans
from mlirad.bindings import ir
from mlirad.dialect.field import StoreOp, is_load, is_write
from mlirad.dialect.grad import AllocOp
from mlirad.ir import build as b
from mlirad.ir.graph import Graph, Node
from mlirad.ir.marks.stored import STORED
from mlirad.ir.pure_operations import is_arithmetic
from mlirad.ir.structured import is_for
from mlirad.ir.walk import Array, owner_operation

LEAST = 32  # operations that a load has to spare


def find_stores(needed: NeededValues, sparse: Set[Array]) -> list[Node]:
    """The stores whose values a reverse should load, because they take long to compute, in the
    order of these. Fields that are redone or `sparse` do not keep what was stored."""
    graph, activity, redone = needed.graph, needed.activity, needed.arrays
    nodes, values = list(graph.nodes()), {value for value, _ in needed.keys}
    stores = [
        node
        for node in nodes
        if StoreOp.holds(node)
        and node.operands[0] in values
        and node.array in activity.adjoint
        and isinstance(node.array, str)
        and node.array not in redone
        and node.array not in sparse
        and _late_indices(graph, node) is not None
        and _work(_slice(graph, node.operands[0]), node) >= LEAST
    ]
    if not stores or any(map(AllocOp.holds, nodes)):
        return []
    overwrites = Overwrites(graph)
    lasting = {store.operands[0]: store for store in stores if _lasts(overwrites, store, nodes)}
    spared = {value for value, _ in NeededValues(graph, activity, redone, lasting).keys}
    return [
        store
        for value, store in sorted(lasting.items())
        if _work(_unneeded(graph, values, spared, value), store) >= LEAST
    ]


def _work(nodes: Iterable[Node], store: Node) -> int:
    """Roughly the operations that some nodes take before a store."""
    around = store.owners
    return sum(
        prod(_trips(owner) for owner in node.owners if owner not in around)
        for node in nodes
        if not node.blocks and any(b.is_float(value.type) for value in node.op.results)
    )


def _trips(owner: Node) -> int:
    return spans(owner.op)[0].expected_trips if is_for(owner) else 1


def _unneeded(graph: Graph, values: set[int], spared: set[int], value: int) -> Iterator[Node]:
    """The nodes that a value is made of and that a reverse computes again only without its
    store."""
    for node in _slice(graph, value):
        if any(r == value or (r in values and r not in spared) for r in node.results):
            yield node


def mark_stores(stores: Sequence[Node], graph: Graph) -> None:
    """Mark stores, and compute their indices in front of the values, where these are loaded."""
    for store in reversed(stores):  # an index may be of several: the first is last
        store.op.attributes[STORED] = ir.UnitAttr.get()
        value = owner_operation(graph.values[store.operands[0]])
        for node in _late_indices(graph, store) or ():
            node.op.move_before(value)


def _late_indices(graph: Graph, store: Node) -> list[Node] | None:
    """The nodes between a stored value and its store that compute the indices, in order; None if
    the value is not in the block of the store, or if they cannot move in front of it."""
    value = graph.defined[store.operands[0]]
    if not isinstance(value, Node) or value.block is not store.block or is_load(value):
        return None
    late: set[Node] = set()
    pending = list(store.indices)
    while pending:
        node = graph.defined[pending.pop()]
        if isinstance(node, Node) and node.order >= value.order and node not in late:
            if node is value or not is_arithmetic(node.op):
                return None
            late.add(node)
            pending += node.operands
    return sorted(late, key=lambda node: node.order)


def _slice(graph: Graph, value: int) -> Iterator[Node]:
    """The nodes that a value is made of, up to what is loaded, with all that is in loops and
    branches among them."""
    pending, visited = [value], {value}
    while pending:
        node = graph.defined[pending.pop()]
        if isinstance(node, Node):
            yield node
            yield from node.walk()
            operands = () if is_load(node) else node.operands
            new = [operand for operand in operands if operand not in visited]
            visited.update(new)
            pending += new


def _lasts(overwrites: Overwrites, store: Node, nodes: list[Node]) -> bool:
    """Return whether it is certain that no later write of the launch meets a store's element."""
    writes = (node for node in nodes if is_write(node) and node.array == store.array)
    return all(overwrites.judge(store, write) == (None, True) for write in writes)
