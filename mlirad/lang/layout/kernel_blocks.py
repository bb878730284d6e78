"""Blocks of layout trees inside kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.dialect.field import array_type
from mlirad.dialect.field_layout import TreeBlock, activities_of
from mlirad.errors import TaichiCompilationError
from mlirad.frontend.python.building.builder import current
from mlirad.frontend.python.places.blocks import BlockRef
from mlirad.runtime.program import Program


def block_ref(
    program: Program,
    path: Sequence[TreeBlock],
    shape: tuple[int, ...],
    leaves: Callable[[], Sequence[object]],
    below: Callable[[], Sequence[object]],
) -> BlockRef:
    """The last block of a path in the kernel that is being compiled, whose trees are declared with
    it."""
    if not path:
        raise TaichiCompilationError("ti.root cannot be indexed: expected a block below it")
    program.trees.materialize()
    builder = current()
    for block in path:
        name = block.activity
        if name is None or name in builder.arrays:
            continue
        if name not in program.fields:
            raise TaichiCompilationError(f"no field is placed in this {block.kind.value} block")
        layout = program.fields[name].layout
        type_ = array_type(ir.Type.parse(layout.element), layout.shape)
        with builder.at_entry():
            builder.arrays[name] = field.get(name, type_)
    block = path[-1]
    name = f"this {block.kind.value} block"
    return BlockRef(name, block.kind, shape, activities_of(path), leaves, below)
