"""Elements in sparse blocks, in the memory of the host."""

from __future__ import annotations

from collections.abc import Hashable

from mlirad.runtime.memory.deferred_writes import Room
from mlirad.runtime.memory.host.host_elements import HostElements
from mlirad.runtime.memory.memory import Allocation, Nesting, Values
from mlirad.runtime.memory.sparse.row_arrays import HostRowArray
from mlirad.runtime.memory.sparse.sparse_elements import TouchedElements, touched_view


class SparseHostElements(TouchedElements, HostElements):
    """Elements as NumPy sees them."""

    __slots__ = ("_allocation", "_nesting", "activity", "order", "touched")

    def __init__(self, view: Values, nesting: Nesting, allocation: Allocation, room: Room) -> None:
        HostElements.__init__(self, view, room)
        self.deferred.is_lent = True  # to `touched`
        self._nesting, self._allocation, self.order = nesting, allocation, nesting.order
        self.activity, self.touched = touched_view(
            HostRowArray(view.transpose(self.order)), nesting
        )

    @property
    def plain(self) -> HostElements:
        """The elements as those of dense blocks."""
        return HostElements(self._view)

    @property
    def place_of_all(self) -> Hashable:
        """Return a key of the place of all elements."""
        return self.address, self._view.shape, self._view.strides
