"""Memory of one launch, as fields that no program declares: scratch, in the tree `$launch`, and the
results of a kernel, in the tree `$results`.

The runtime gives a launch so many bytes for each (`ir/signature.py`); scratch is not cleared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from mlirad.bindings import ir
from mlirad.dialect import field, snode
from mlirad.dialect.field import array_type
from mlirad.dialect.layout_rules import ELEMENT_SIZES
from mlirad.errors import TaichiCompilationError
from mlirad.ir.reports.location import source_location
from mlirad.ir.signature import marked_as_result, marked_as_scratch
from mlirad.ir.walk import block_operations

SCRATCH, RESULTS = "$launch", "$results"


def scratch(module: ir.Operation, element: ir.Type, extents: Sequence[int]) -> ir.Value:
    """An array of the launch, not cleared, gotten at the insertion point. Raises
    TaichiCompilationError for elements that memory does not hold."""
    if str(element) not in ELEMENT_SIZES:
        raise TaichiCompilationError(
            f"a value of type {element} cannot cross from one launch to another",
            source_location(ir.Location.current),
        )
    size = ELEMENT_SIZES[str(element)] * prod(extents)
    return _place(module, SCRATCH, element, extents, marked_as_scratch(size))


def result(module: ir.Operation, element: ir.Type, number: int) -> ir.Value:
    """The cell of one result of a kernel, gotten at the insertion point."""
    return _place(module, RESULTS, element, [], marked_as_result(number))


def _place(
    module: ir.Operation,
    tree: str,
    element: ir.Type,
    extents: Sequence[int],
    marks: Mapping[str, ir.Attribute],
) -> ir.Value:
    leaves = _tree(module, tree).regions[0].blocks[0]
    name = f"{tree}.{len(block_operations(leaves))}"
    leaves.append(snode.place(name, element, extents, marks=marks))
    return field.get(name, array_type(element, extents))


def _tree(module: ir.Operation, name: str) -> ir.Operation:
    symbol = ir.StringAttr.get(name, module.context)
    for tree in snode.roots(module):
        if tree.attributes["sym_name"] == symbol:
            return tree
    with ir.InsertionPoint.at_block_begin(module.regions[0].blocks[0]), module.location:
        return snode.root(name, [])
