"""The bandwidth of a device's memory, measured by a copy of its driver."""

from __future__ import annotations

from time import perf_counter

from mlirad.errors import TaichiMemoryError
from mlirad.runtime.memory.device.driver import Driver

_SIZE, _REPEATS = 1 << 26, 8


def copy_rate(driver: Driver) -> float | None:
    """Bytes that a copy reads and writes in a second, together; None where there is no room."""
    try:
        address = driver.allocate(2 * _SIZE)
    except TaichiMemoryError:
        return None
    seconds = copy_seconds(driver, address + _SIZE, address, _SIZE, _REPEATS)
    driver.free(address)
    return 2 * _SIZE / seconds


def copy_seconds(driver: Driver, target: int, source: int, size: int, repeats: int) -> float:
    """Return what a copy takes."""
    driver.fill(source, 1, size)
    driver.copy(target, source, size)
    driver.synchronize()
    start = perf_counter()
    for _ in range(repeats):
        driver.copy(target, source, size)
    driver.synchronize()
    return (perf_counter() - start) / repeats
