"""Needs of launches on a device besides its memory: scratch memory, and the user's arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any
from weakref import finalize

from mlirad.ir.memory.pages import is_paged
from mlirad.runtime.executor.executor import Addressable, PassedArray
from mlirad.runtime.executor.frame import WORD, Frame, PassedSlot, SeparateLaunchSpace
from mlirad.runtime.memory.device.device_allocation import DeviceAllocation
from mlirad.runtime.memory.device.device_memory import DeviceMemory
from mlirad.runtime.memory.values import Values


class DeviceLaunchSpace(SeparateLaunchSpace):
    """Page-locked memory for what Python looks at, the device's for what only launches see."""

    def __init__(self, memory: DeviceMemory) -> None:
        self._driver, self._transfers = memory.driver, memory.transfers
        self._pages = memory.pages

    def words(self, count: int) -> ctypes.Array[ctypes.c_int64]:
        """Zeroed words, given back with the array."""
        address = self._driver.page_locked(count * WORD)
        words = (ctypes.c_int64 * count).from_address(address)
        words[:] = [0] * count
        finalize(words, self._driver.free_page_locked, address).atexit = False
        return words

    def scratch(self, size: int) -> Addressable:
        return DeviceAllocation(self._transfers, size)

    def wait(self) -> None:
        self._driver.synchronize()

    def run(
        self, function: Callable[[Any], None], frame: Frame, arrays: Sequence[PassedArray]
    ) -> None:
        on_host = _on_host(frame, arrays) if frame.arrays else ()
        try:
            if frame.pages is not None:
                self._run_in_pages(function, frame, on_host)
            elif on_host:
                self._run_with_copies(function, frame, on_host)
            else:
                function(frame.packed)
        finally:
            self._transfers.changes += 1

    def _run_in_pages(
        self,
        function: Callable[[Any], None],
        frame: Frame,
        on_host: Sequence[tuple[PassedSlot, Values]],
    ) -> None:
        with ExitStack() as stack:
            if frame.takes_pages:
                stack.enter_context(self._pages.taking(_paged_fields(frame)))
            frame.pages.value = self._pages.address
            self._run_with_copies(function, frame, on_host)

    def _run_with_copies(
        self,
        function: Callable[[Any], None],
        frame: Frame,
        on_host: Sequence[tuple[PassedSlot, Values]],
    ) -> None:
        with ExitStack() as lent:
            for argument, host in on_host:
                if not host.nbytes:
                    argument.slot.value = 0  # a GPU has no address of the host
                    continue
                address = lent.enter_context(self._transfers.pool.lent(host.nbytes))
                self._driver.write(address, host.ctypes.data, host.nbytes)
                argument.slot.value = address
            function(frame.packed)
            for argument, host in on_host:
                if argument.is_written and host.nbytes:
                    self._driver.read(host.ctypes.data, argument.slot.value, host.nbytes)
                argument.slot.value = host.ctypes.data  # which tells arguments apart


def _paged_fields(frame: Frame) -> list[str]:
    """The fields of a launch that lie in pages."""
    return [symbol for slot, symbol in frame.fields if is_paged(slot.value)]


def _on_host(frame: Frame, arrays: Sequence[PassedArray]) -> list[tuple[PassedSlot, Values]]:
    """The arrays of a launch that Python has."""
    return [
        (argument, host)
        for argument in frame.arrays
        for host in (argument.array_in(arrays).host,)
        if host is not None
    ]
