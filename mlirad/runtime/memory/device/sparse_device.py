"""Elements in sparse blocks, in the memory of a device: which pieces are touched, the host finds
from their activity; the pieces stay there."""

from __future__ import annotations

from collections.abc import Hashable

from mlirad.runtime.memory.device.device_allocation import DeviceAllocation
from mlirad.runtime.memory.device.device_elements import DeviceElements
from mlirad.runtime.memory.device.device_rows import DeviceRowArray
from mlirad.runtime.memory.device.strided import Strided
from mlirad.runtime.memory.device.transfers import Transfers
from mlirad.runtime.memory.memory import DType, Nesting
from mlirad.runtime.memory.sparse.sparse_elements import TouchedElements, touched_view


class SparseDeviceElements(TouchedElements, DeviceElements):
    """Elements in an allocation."""

    __slots__ = ("_allocation", "_nesting", "activity", "order", "touched")

    def __init__(
        self,
        transfers: Transfers,
        place: Strided,
        dtype: DType,
        allocation: DeviceAllocation,
        nesting: Nesting,
    ) -> None:
        DeviceElements.__init__(self, transfers, place, dtype, allocation)
        self._nesting, self._allocation, self.order = nesting, allocation, nesting.order
        ordered = DeviceRowArray(transfers, place.transpose(self.order), dtype)
        self.activity, self.touched = touched_view(ordered, nesting)

    @property
    def plain(self) -> DeviceElements:
        """The elements as those of dense blocks."""
        return self.part(None)

    @property
    def place_of_all(self) -> Hashable:
        """Return a key of the place of all elements."""
        return self.place.key
