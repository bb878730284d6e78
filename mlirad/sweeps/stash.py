"""Copies of arrays, to give them back what they held."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.dialect.field import AllocaOp, array_of, element_type
from mlirad.ir import build as b
from mlirad.ir.graph import Graph, Node
from mlirad.ir.walk import at_end


class Stash:
    """Copies, made at the insertion point, of the arrays that some writes change; of a function
    with these arguments."""

    def __init__(self, arguments: Sequence[ir.Value], graph: Graph, writes: Iterable[Node]) -> None:
        nodes = {node.array: node for node in sorted(writes, key=lambda node: node.order)}
        arrays = [
            array_in(arguments, graph, node) for node in nodes.values() if not is_local(graph, node)
        ]
        self._copies = [
            (array, allocate_elements(array, range(len(array_of(array.type)[1])), _element(array)))
            for array in arrays
        ]
        for array, copy in self._copies:
            _for_each(array, partial(_keep, array, copy))

    def give_back(self) -> None:
        """Let the arrays hold what they held."""
        for array, copy in self._copies:
            _for_each(array, partial(_restore, array, copy))

    def free(self) -> None:
        """Release the copies."""
        for _, copy in self._copies:
            b.dealloc(copy)


def _keep(array: ir.Value, copy: ir.Value, at: list[ir.Value]) -> None:
    b.write(field.load(array, at), copy, at)


def _restore(array: ir.Value, copy: ir.Value, at: list[ir.Value]) -> None:
    field.store(b.read(copy, at), array, at)


def _for_each(array: ir.Value, run: Callable[[list[ir.Value]], None]) -> None:
    """Do something for every element of an array."""
    sizes = extents_of(array, range(len(array_of(array.type)[1])))
    if not sizes:
        run([])
        return
    rank = len(sizes)
    loop = b.parallel_loop([b.index(0)] * rank, sizes, [b.index(1)] * rank)
    with at_end(loop.body, loop.op.location):
        run([*loop.indices])
        b.end_parallel()


def array_in(arguments: Sequence[ir.Value], graph: Graph, node: Node) -> ir.Value:
    """The array of an access: an argument of the function that is made, or the field, gotten at the
    insertion point.

    A local of the kernel is that of the kernel itself: only its type is of use.
    """
    if isinstance(node.array, str):
        type_ = graph.values[node.array_value].type
        return field.get(node.array, type_)
    if is_local(graph, node):
        return graph.values[node.array_value]
    return arguments[ir.BlockArgument(graph.values[node.array_value]).arg_number]


def extents_of(array: ir.Value, axes: Iterable[int]) -> list[ir.Value]:
    """Return how long some axes of an array are."""
    extents = array_of(array.type)[1]
    return [
        b.index(extents[axis]) if extents[axis] >= 0 else field.dim(array, axis) for axis in axes
    ]


def allocate_elements(array: ir.Value, axes: Iterable[int], element: ir.Type) -> ir.Value:
    """Memory for an element of a type for each along some axes of an array."""
    axes = list(axes)
    extents = array_of(array.type)[1]
    dynamic = ir.ShapedType.get_dynamic_size()
    type_ = ir.MemRefType.get(
        [extents[axis] if extents[axis] >= 0 else dynamic for axis in axes], element
    )
    sizes = extents_of(array, [axis for axis in axes if extents[axis] < 0])
    return b.alloc(type_, sizes)


def _element(array: ir.Value) -> ir.Type:
    return element_type(array.type)


def is_local(graph: Graph, node: Node) -> bool:
    """Return whether an access is to memory of one launch."""
    value = graph.values[node.array_value]
    return not isinstance(value, ir.BlockArgument) and AllocaOp.holds(value.owner.operation)
