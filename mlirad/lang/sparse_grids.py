"""`ti.sparse`: grids of structs of which only the cells that are written to are active."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from mlirad.errors import TaichiRuntimeError
from mlirad.frontend.python.calls.specials import grouped
from mlirad.lang.field.struct_field import StructField, declare
from mlirad.lang.kernels.kernel import kernel
from mlirad.lang.layout.axes import Axes, Shape, sizes_of
from mlirad.lang.layout.tree import SNode
from mlirad.lang.types_namespace import template
from mlirad.runtime.program import program

__all__ = ["grid", "usage"]


def __dir__() -> list[str]:
    return __all__


def grid(field_dict: Mapping[str, Any], shape: Shape) -> StructField:
    """A field of structs, by names and types of members, in a bitmasked block of two or three axes
    of some extents. Raises TaichiRuntimeError for another number of them."""
    sizes = sizes_of(shape)
    if len(sizes) not in (2, 3):
        raise TaichiRuntimeError(f"a sparse grid has two or three axes, not {len(sizes)}")
    field = declare(field_dict, {})
    program().trees.root.bitmasked(Axes(tuple(range(len(sizes)))), sizes).place(field)
    return field


def usage(x: StructField) -> float:
    """How many cells of a sparse grid are active, of all: 0 to 1."""
    block = x.parent()
    assert isinstance(block, SNode)
    count: int = _count_active(block)
    return count / prod(x.shape)


@kernel
def _count_active(block: template()) -> int:  # type: ignore[valid-type]
    count = 0
    for _cell in grouped(block):
        count += 1
    return count
