"""What launches on a device need besides its memory: memory of their own, and the user's arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any
from weakref import finalize

from mlirad.runtime.executor.executor import Located, PassedArray
from mlirad.runtime.executor.frame import WORD, Frame, PassedSlot, RoomApart
from mlirad.runtime.memory.device.device_allocation import DeviceAllocation
from mlirad.runtime.memory.device.device_memory import DeviceMemory
from mlirad.runtime.memory.values import Values


class DeviceRoom(RoomApart):
    """Page-locked memory for what Python looks at, the device's for what only launches see."""

    def __init__(self, memory: DeviceMemory) -> None:
        self._driver, self._transfers = memory.driver, memory.transfers

    def words(self, count: int) -> ctypes.Array[ctypes.c_int64]:
        """Zeroed words, given back with the array."""
        address = self._driver.page_locked(count * WORD)
        found = (ctypes.c_int64 * count).from_address(address)
        found[:] = [0] * count
        finalize(found, self._driver.free_page_locked, address).atexit = False
        return found

    def scratch(self, size: int) -> Located:
        """Bytes of the device."""
        return DeviceAllocation(self._transfers, size)

    def wait(self) -> None:
        """For all that was asked of the device."""
        self._driver.synchronize()

    def run(
        self, function: Callable[[Any], None], frame: Frame, arrays: Sequence[PassedArray]
    ) -> None:
        """Launch, with copies of arrays that are on the host."""
        on_host = _on_host(frame, arrays) if frame.arrays else ()
        try:
            if on_host:
                self._run_with_copies(function, frame, on_host)
            else:
                function(frame.packed)
        finally:
            self._transfers.changes += 1

    def _run_with_copies(
        self,
        function: Callable[[Any], None],
        frame: Frame,
        on_host: Sequence[tuple[PassedSlot, Values]],
    ) -> None:
        with ExitStack() as lent:
            for one, host in on_host:
                if not host.nbytes:
                    one.slot.value = 0  # a GPU has no address of the host
                    continue
                address = lent.enter_context(self._transfers.pool.lent(host.nbytes))
                self._driver.write(address, host.ctypes.data, host.nbytes)
                one.slot.value = address
            function(frame.packed)
            for one, host in on_host:
                if one.is_written and host.nbytes:
                    self._driver.read(host.ctypes.data, one.slot.value, host.nbytes)
                one.slot.value = host.ctypes.data  # which tells arguments apart


def _on_host(frame: Frame, arrays: Sequence[PassedArray]) -> list[tuple[PassedSlot, Values]]:
    """The arrays of a launch that Python has."""
    return [
        (one, host) for one in frame.arrays for host in (one.of(arrays).host,) if host is not None
    ]
