"""The hidden fields that say which cells of sparse blocks are active."""

from __future__ import annotations

from functools import partial

import numpy as np

from mlirad.dialect import snode
from mlirad.dialect.field_layout import FieldLayout, Kind
from mlirad.ir.build import integer_type
from mlirad.lang.layout.tree import SNode
from mlirad.runtime.memory.field import allocate
from mlirad.runtime.memory.memory import Nesting, SparseBlock
from mlirad.runtime.memory.nesting import outermost_first


def give_activity(node: SNode) -> None:
    """Allocate the field of a sparse block's activity, in a tree laid out as the path to it. The
    blocks around have theirs."""
    program, name = node.program, node.activity
    assert name is not None
    declare = partial(_declare, node, name)
    dtype = np.dtype(np.int32 if node.kind is Kind.DYNAMIC else np.int8)
    above = tuple(sparse_block(block) for block in node.path()[:-1] if block.activity is not None)

    def nesting(layout: FieldLayout) -> Nesting:
        return Nesting(outermost_first(layout), above, own_kind=node.kind)

    program.fields |= allocate(declare, {name: dtype}, program.executor.memory, nesting)
    program.trees.declarations[name] = declare


def sparse_block(node: SNode) -> SparseBlock:
    """A block that has its activity, as memory sees it."""
    assert node.activity is not None
    cells = node.program.fields[node.activity]
    return SparseBlock(node.kind, cells.elements, outermost_first(cells.layout))


def _declare(node: SNode, name: str) -> None:
    """Declare it: a length for each list, or a byte for each cell."""
    is_list = node.kind is Kind.DYNAMIC
    tree = snode.place(name, integer_type(32 if is_list else 8))
    around = node.path()[: -1 if is_list else None]
    for block in reversed(around):
        tree = snode.dense(block.axes, block.extents, [tree])
    snode.root(f"{name}.tree", [tree])
