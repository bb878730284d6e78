"""Writes that the reverse of a function repeats: those to arrays that `check-access-rules` has
noted."""

from __future__ import annotations

from collections.abc import Set

from mlirad.bindings import ir
from mlirad.dialect.field import AtomicKind, atomic_kind, is_load, is_write, replaces
from mlirad.ir.graph import Graph, Node
from mlirad.ir.structured import is_parallel, is_serial_loop
from mlirad.ir.walk import Array, has_uses


def redone_arrays(function: ir.Operation, graph: Graph) -> frozenset[Array]:
    """The arrays whose writes `check-access-rules` wants done again: fields by name, arguments by
    number."""
    if "grad.redone" not in function.attributes:
        return frozenset()
    arrays: set[Array] = set()
    for item in ir.ArrayAttr(function.attributes["grad.redone"]):
        if isinstance(item, ir.FlatSymbolRefAttr):
            arrays.add(item.value)
        else:
            arrays.add(graph.values[graph.body.arguments[ir.IntegerAttr(item).value]])
    return frozenset(arrays)


def find_redone(graph: Graph, arrays: Set[Array]) -> set[Node]:
    """Return the writes to arrays that are done again, and what is around them inside a parallel
    loop, or the function."""
    redone: set[Node] = set()
    for node in graph.nodes():
        if is_write(node) and node.array in arrays and _is_read_beside(node):
            redone.add(node)
            redone.update(owner for owner in node.owners if not is_parallel(owner))
    return redone


def reads_what_it_writes(
    graph: Graph, loop: Node, keys: Set[tuple[int, int]], work: Set[Node], redone: Set[Node]
) -> bool:
    """Return whether the reverse of a loop's iterations needs values of an array that the loop
    overwrites, or what a write overwrites."""
    inside = [node for node in loop.walk() if node.is_access]
    written = {node.array for node in inside if node in redone}
    least = loop.block.depth + 2  # of blocks that run reversed where an iteration does

    def is_needed(value: int) -> bool:
        return any((value, level) in keys for level in range(least, graph.depth_of(value) + 2))

    return any(
        any(map(is_needed, node.results))
        or (node in work and is_write(node) and not _is_only_written(node))
        for node in inside
        if node.array in written
    )


def base_depth(node: Node) -> int:
    """The depth of the block that a node's iteration of a parallel loop, or else the function,
    begins with."""
    inside = [owner for owner in node.owners if is_parallel(owner)]
    return inside[-1].block.depth + 1 if inside else 0


def _is_read_beside(write: Node) -> bool:
    """Return whether what the parallel loop around a write reads of its array may be what it wrote:
    else no iteration has to see it again."""
    loop = next((owner for owner in reversed(write.owners) if is_parallel(owner)), None)
    return loop is None or any(
        node.array == write.array
        and not _is_only_written(node)
        and (not is_load(node) or _may_follow(node, write))
        for node in loop.walk()
        if node.is_access
    )


def _may_follow(read: Node, write: Node) -> bool:
    """Return whether a read runs after a write of the same iteration of a parallel loop: it stands
    behind it, or a loop goes round both."""
    depth = base_depth(write)
    around = {
        outer for outer in write.owners if outer.block.depth >= depth and is_serial_loop(outer)
    }
    return read.order > write.order or any(owner in around for owner in read.owners)


def _is_only_written(node: Node) -> bool:
    return (
        is_write(node)
        and (replaces(node.op) or atomic_kind(node.op) == AtomicKind.ADD)
        and not any(map(has_uses, node.op.results))
    )
