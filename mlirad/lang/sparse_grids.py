"""`ti.sparse`: grids of structs in which only cells that were written are active."""

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
    """Return a field of structs in a bitmasked block.

    Args:
        field_dict: the types of the members, by name.
        shape: two or three extents.

    Raises:
        TaichiRuntimeError: the number of extents is not two or three.
    """
    sizes = sizes_of(shape)
    if len(sizes) not in (2, 3):
        raise TaichiRuntimeError(f"expected two or three axes for a sparse grid, got {len(sizes)}")
    field = declare(field_dict, {})
    program().trees.root.bitmasked(Axes(tuple(range(len(sizes)))), sizes).place(field)
    return field


def usage(x: StructField) -> float:
    """Return the fraction of cells of a sparse grid that are active, 0 to 1."""
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
