"""Arrays whose rows are whole numbers of the widest accesses."""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.dialect.field_layout import FieldLayout
from mlirad.ir.walk import array_root

WIDEST = 16  # bytes that an instruction loads or stores


class Rows:
    """The fields of a module, by how their rows lie in memory."""

    def __init__(self, field_layouts: dict[str, FieldLayout]) -> None:
        self._layouts = field_layouts

    def element_size(self, array: ir.Value) -> int | None:
        """Return the bytes of an element of a field whose elements lie side by side along the last
        axis, in rows that begin at multiples of 16 bytes; None for other arrays."""
        root = array_root(array)
        layout = self._layouts.get(root) if isinstance(root, str) else None
        return layout.size if layout is not None and _has_whole_rows(layout) else None


def _has_whole_rows(layout: FieldLayout) -> bool:
    if layout.component_shape or not layout.rank or len(layout.levels) != layout.rank:
        return False
    *rows, step = layout.element_strides
    return step == layout.size and all(start % WIDEST == 0 for start in (layout.offset, *rows))
