"""Elements by their indices, where these and the memory have the axes in different orders."""

from __future__ import annotations

import msgspec

from mlirad.kernel.axis_order import Layout, in_index_order, in_memory_order
from mlirad.runtime.boxes import Box
from mlirad.runtime.memory.memory import Elements
from mlirad.runtime.memory.values import Values


class IndexedElements(msgspec.Struct, frozen=True):
    """Elements in memory that another layout has than their indices."""

    stored: Elements
    layout: Layout

    def read(self, box: Box | None = None) -> Values:
        """Return a contiguous copy of the elements, or of those in a box."""
        return self._indexed(self.stored.read(self._stored_box(box))).copy()

    def write(self, values: Values, box: Box | None = None) -> None:
        """Set the elements, or those in a box."""
        axes = in_memory_order(range(values.ndim), self.layout)
        self.stored.write(values.transpose(axes), self._stored_box(box))

    def lend(self, *, writable: bool = False) -> Values | None:
        """Return a view; see `Elements.lend`."""
        view = self.stored.lend(writable=writable)
        return None if view is None else self._indexed(view)

    def _indexed(self, values: Values) -> Values:
        return values.transpose(in_index_order(range(values.ndim), self.layout))

    def _stored_box(self, box: Box | None) -> Box | None:
        return None if box is None else in_memory_order(box, self.layout)


OrderedElements = Elements | IndexedElements
