"""Memory that is committed as it is written to: on the host and on simt's device."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from mlirad.errors import TaichiMemoryError
from mlirad.runtime.capacity import Capacity
from mlirad.runtime.executors import executor_of
from mlirad.runtime.memory.device.driver import Driver
from mlirad.runtime.memory.memory import Elements, Memory
from mlirad.runtime.memory.reserved import ADDRESS_SPACE
from mlirad.runtime.simt.simt_driver import ALIGNMENT, SimtDriver
from mlirad.runtime.simt.simt_executor import SimtExecutor

TERA = 1 << 40
FLOAT = np.dtype(np.float32)


def _resident() -> int:
    """Bytes of memory that this process has."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("the kernel does not say")


@pytest.fixture(params=["cpu", "simt"])
def memory(request: pytest.FixtureRequest) -> Iterator[Memory]:
    executor = SimtExecutor() if request.param == "simt" else executor_of("x64")
    yield executor.memory
    del executor  # which compiles what its memory launches


def _elements(memory: Memory, rows: int) -> Elements:
    """Rows of a gigabyte each, of which the first two numbers are seen."""
    allocation = memory.allocate(rows << 30, lazily=True)
    return memory.elements(allocation, 8, FLOAT, (rows, 2), (1 << 30, 4))


def test_what_is_written_takes_memory(memory: Memory) -> None:
    elements = _elements(memory, 1024)
    elements.put((1000,), 2.0)  # a device compiles what fills
    before = _resident()
    elements.put((1000,), 3.0)
    elements.put((5, 1), 2.0)
    assert elements.get((1000,)) == [3.0, 3.0] and elements.get((5,)) == [0.0, 2.0]
    assert elements.get((1023, 1)) == 0.0
    assert _resident() - before < 1 << 24


def test_what_is_discarded_is_zero_and_given_back(memory: Memory) -> None:
    allocation = memory.allocate(TERA, lazily=True)
    elements = memory.elements(allocation, 0, FLOAT, (1 << 24,), (4,))
    elements.write(np.ones(1 << 24, np.float32))
    elements.read()  # into a block that is kept for the next copy
    before = _resident()
    allocation.discard(4 * 1000, 4 * ((1 << 24) - 3000))
    found = elements.read()
    assert (found[:1000] == 1).all() and (found[-2000:] == 1).all()
    assert not found[1000:-2000].any()
    del found
    assert before - _resident() > 1 << 25
    allocation.clear()
    assert not elements.any()


def test_few_bytes_are_discarded(memory: Memory) -> None:
    allocation = memory.allocate(1 << 20, lazily=True)
    elements = memory.elements(allocation, 0, FLOAT, (1000,), (4,))
    elements.fill(1.0)
    allocation.discard(40, 4)
    assert elements.read().tolist() == [1.0] * 10 + [0.0] + [1.0] * 989


def test_what_is_allocated_whole_becomes_zero_too() -> None:
    for executor in (executor_of("x64"), SimtExecutor()):
        allocation = executor.memory.allocate(64)
        elements = executor.memory.elements(allocation, 0, FLOAT, (16,), (4,))
        elements.fill(1.0)
        allocation.discard(8, 52)
        assert elements.read().tolist() == [1.0] * 2 + [0.0] * 13 + [1.0]


def test_more_than_there_is_address_space_is_refused(memory: Memory) -> None:
    with pytest.raises(TaichiMemoryError, match="address space are not available"):
        memory.allocate(1 << 60, lazily=True)


def test_addresses_are_counted_apart_from_memory() -> None:
    capacity = Capacity(lambda: 100, lambda: 100, address_space=ADDRESS_SPACE)
    capacity.take({"x": ADDRESS_SPACE - TERA}, "field 'x'", lazily=True)
    capacity.take({"y": 100}, "field 'y'")
    with pytest.raises(TaichiMemoryError, match=r"field 'z': .* \(2.0 TiB\).* into the address"):
        capacity.take({"z": 2 * TERA}, "field 'z'", lazily=True)
    capacity.give_back("x")
    capacity.take({"z": 2 * TERA}, "field 'z'", lazily=True)


def test_a_device_without_address_space_counts_all() -> None:
    capacity = Capacity(lambda: 100, lambda: 100, "the device's memory")
    with pytest.raises(TaichiMemoryError, match=r"field 'x'.*the device's memory"):
        capacity.take({"x": TERA}, "field 'x'", lazily=True)


def test_a_device_allocates_what_it_cannot_reserve() -> None:
    driver = SimtDriver(total=1 << 20)
    assert Driver.address_space.fget(driver) is None  # type: ignore[attr-defined]
    address = Driver.reserve(driver, 1000)
    found = np.ones(1000, np.uint8)
    driver.read(found.ctypes.data, address, 1000)
    assert not found.any()
    driver.fill(address, 7, 1000)
    Driver.discard(driver, address, 10)
    driver.read(found.ctypes.data, address, 1000)
    assert not found[:10].any() and (found[10:] == 7).all()
    with pytest.raises(TaichiMemoryError, match="do not fit into the memory of the device"):
        Driver.reserve(driver, 1 << 20)


def test_a_write_beyond_what_is_reserved_is_found() -> None:
    driver = SimtDriver(total=1 << 20)
    address = driver.reserve(TERA)
    assert address % ALIGNMENT == 0 and driver.holds(address + TERA - 1)
    driver._block(address).inside()[:1] = 3  # type: ignore[union-attr]
    beyond = driver._block(address)._room  # type: ignore[union-attr]
    beyond[driver._block(address)._start - 1] = 0  # type: ignore[union-attr]
    with pytest.raises(Exception, match="wrote beyond the ends"):
        driver.free(address)
