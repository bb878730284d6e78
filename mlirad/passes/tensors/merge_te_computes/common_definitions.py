"""Definitions that say the same become one."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from mlirad.bindings import ir
from mlirad.dialect import te
from mlirad.ir.marks.axis_choices import AXES
from mlirad.ir.reports.remarks import REMARKS, remark
from mlirad.ir.walk import attributes_of, block_operations


def merge_common_definitions(entry: ir.Block) -> None:
    """Let what reads the second of two equal definitions read the first; the second goes."""
    definitions: dict[Hashable, ir.Operation] = {}
    for op in block_operations(entry):
        if not te.defines_tensor(op) or te.PlaceholderOp.holds(op) or te.KEPT in op.attributes:
            continue
        first = definitions.setdefault(_key(op, {}), op)
        if first != op:
            remark(first, f"merged with '{te.label_of(op)}', which is the same")
            op.results[0].replace_all_uses_with(first.results[0])
            op.erase()


def _key(op: ir.Operation, inside: dict[ir.Value, int]) -> Hashable:
    """Return a key of an op in which the values that its regions define are numbered."""
    operands = tuple(inside.get(value, value) for value in op.operands)
    attributes = tuple(
        (name, str(attribute))
        for name, attribute in sorted(attributes_of(op).items())
        if name not in (te.LABEL, te.INLINED, AXES, REMARKS)
    )
    types = tuple(str(result.type) for result in op.results)
    regions = []
    for region in op.regions:
        for block in region.blocks:
            _number(block.arguments, inside)
            argument_types = tuple(str(value.type) for value in block.arguments)
            regions.append(
                (argument_types, tuple(_key(inner, inside) for inner in block_operations(block)))
            )
    _number(op.results, inside)
    return op.name, operands, attributes, types, tuple(regions)


def _number(values: Iterable[ir.Value], inside: dict[ir.Value, int]) -> None:
    for value in values:
        inside[value] = len(inside)
