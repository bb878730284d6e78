"""The device whose memory lies on the host: what it copies, and what it finds wrong."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from mlirad.errors import TaichiMemoryError, TaichiRuntimeError
from mlirad.runtime.simt.simt_driver import ALIGNMENT, FREED, UNWRITTEN, SimtDriver


def _read(driver: SimtDriver, address: int, size: int) -> list[int]:
    found = np.zeros(size, np.uint8)
    driver.read(found.ctypes.data, address, size)
    return found.tolist()


def test_copies_between_host_and_device() -> None:
    driver = SimtDriver()
    one, other = driver.allocate(8), driver.allocate(8)
    given = np.arange(8, dtype=np.uint8)
    driver.write(one, given.ctypes.data, 8)
    given[:] = 77  # the host's may change
    driver.fill(other, 9, 8)
    driver.copy(other + 2, one + 1, 3)
    assert _read(driver, other, 8) == [9, 9, 1, 2, 3, 9, 9, 9]
    assert one % ALIGNMENT == other % ALIGNMENT == 0


def test_memory_is_garbage_before_and_after() -> None:
    driver = SimtDriver()
    address = driver.allocate(4)
    assert _read(driver, address, 4) == [UNWRITTEN] * 4
    driver.free(address)
    assert ctypes.string_at(address, 4) == bytes([FREED]) * 4


def test_copies_stay_in_their_allocation() -> None:
    driver = SimtDriver()
    address, room = driver.allocate(16), np.zeros(32, np.uint8)
    with pytest.raises(TaichiRuntimeError, match="read of 17 bytes"):
        driver.read(room.ctypes.data, address, 17)
    with pytest.raises(TaichiRuntimeError, match="write of 8 bytes"):
        driver.write(room.ctypes.data, address, 8)  # which is the host's
    driver.free(address)
    with pytest.raises(TaichiRuntimeError, match="fill of 1 bytes"):
        driver.fill(address, 0, 1)
    assert not driver.holds(address)


def test_a_write_beyond_the_end_is_found() -> None:
    driver = SimtDriver()
    address = driver.allocate(16)
    ctypes.memset(address + 16, 0, 1)
    with pytest.raises(TaichiRuntimeError, match="wrote beyond the ends of the 16 bytes"):
        driver.free(address)


def test_memory_runs_out_and_is_given_back() -> None:
    driver = SimtDriver(total=1000)
    address = driver.allocate(600)
    assert driver.free_memory() == 400
    with pytest.raises(TaichiMemoryError, match=r"500 bytes .* 400 of 1000 are free"):
        driver.allocate(500)
    driver.free(address)
    locked = driver.page_locked(64)
    assert (driver.free_memory(), driver.allocations) == (1000, 1)
    ctypes.memset(locked, 1, 64)
    driver.free_page_locked(locked)
    assert driver.allocations == 0
