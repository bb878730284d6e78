"""Tensors of the same elements in another shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mlirad.bindings import ir
from mlirad.dialect import te
from mlirad.ir import build as b
from mlirad.ir.ops import Tensor
from mlirad.passes.functions.raise_linalg_to_te.affine import join, split
from mlirad.passes.functions.raise_linalg_to_te.definitions import Definitions, tensor_type


def _collapse(op: ir.Operation, definitions: Definitions) -> None:
    """Groups of axes that are one each."""
    groups, source = _groups(op), tensor_type(op.operands[0].type).shape

    def at(indices: Sequence[ir.Value]) -> list[ir.Value]:
        listed = [split(i, [source[axis] for axis in g]) for i, g in zip(indices, groups)]
        return [index for group_indices in listed for index in group_indices] or [
            b.index(0) for _ in source
        ]

    _define(op, definitions, at)


def _expand(op: ir.Operation, definitions: Definitions) -> None:
    """Axes that are groups of several each."""
    groups, target = _groups(op), tensor_type(op.results[0].type).shape

    def at(indices: Sequence[ir.Value]) -> list[ir.Value]:
        return [join([indices[a] for a in group], [target[a] for a in group]) for group in groups]

    _define(op, definitions, at)


def _reshape(op: ir.Operation, definitions: Definitions) -> None:
    """Other extents of elements row by row."""
    source, target = (tensor_type(v.type).shape for v in (op.operands[0], op.results[0]))
    _define(op, definitions, lambda indices: split(join(indices, target), source))


def _define(
    op: ir.Operation,
    definitions: Definitions,
    at: Callable[[Sequence[ir.Value]], list[ir.Value]],
) -> None:
    """Define a result whose element at some indices is the source's `at` others."""
    source = definitions.tensor(op.operands[0])
    definitions.define(op.results[0], lambda indices: te.read(source, at(indices)), op.name)


def _groups(op: ir.Operation) -> list[list[int]]:
    return [
        [ir.IntegerAttr(axis).value for axis in ir.ArrayAttr(group)]
        for group in ir.ArrayAttr(op.attributes["reassociation"])
    ]


SHAPES = {
    Tensor.COLLAPSE_SHAPE: _collapse,
    Tensor.EXPAND_SHAPE: _expand,
    Tensor.RESHAPE: _reshape,
}
