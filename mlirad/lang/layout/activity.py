"""The hidden fields that say which cells of sparse blocks are active."""

from __future__ import annotations

from functools import partial

import numpy as np

from mlirad.dialect import snode
from mlirad.dialect.field_layout import Kind
from mlirad.ir.build import integer_type
from mlirad.lang.layout.tree import SNode
from mlirad.runtime.memory.field import allocate


def give_activity(node: SNode) -> None:
    """Allocate the field of a sparse block's activity, in a tree laid out as the path to it."""
    program, name = node.program, node.activity
    assert name is not None
    declare = partial(_declare, node, name)
    dtype = np.dtype(np.int32 if node.kind is Kind.DYNAMIC else np.int8)
    program.fields |= allocate(declare, {name: dtype}, program.executor.memory)
    program.trees.declarations[name] = declare


def _declare(node: SNode, name: str) -> None:
    """Declare it: a length for each list, or a byte for each cell."""
    is_list = node.kind is Kind.DYNAMIC
    tree = snode.place(name, integer_type(32 if is_list else 8))
    around = node.path()[: -1 if is_list else None]
    for block in reversed(around):
        tree = snode.dense(block.axes, block.extents, [tree])
    snode.root(f"{name}.tree", [tree])
