"""What is done to elements that lie on a device: to the host and from it, and there."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

import numpy as np

from mlirad.runtime.memory.device.driver import Driver
from mlirad.runtime.memory.device.pool import Pool
from mlirad.runtime.memory.device.service_ir import Operation
from mlirad.runtime.memory.device.services import Services
from mlirad.runtime.memory.device.strided import WIDEST, Loops, Strided, contiguous, loops
from mlirad.runtime.memory.memory import DType
from mlirad.runtime.memory.values import Values

SMALL = 1 << 16  # bytes, which are copied in the time that it takes to ask for them
_FEW = 8  # copies, which take no more time than a launch


class Transfers:
    """Copies, and kernels where the device's own copies do not do; all in the order of launches.

    `changes` counts what may have changed memory: what was read before may be read again only as
    long as it stays as it is.
    """

    def __init__(self, driver: Driver, services: Services, small: int = SMALL) -> None:
        self.driver, self._services, self._small = driver, services, small
        self.pool = Pool(driver)
        self.changes = 0

    # To the host and from it.

    def read(self, elements: Strided, dtype: DType) -> Values:
        """A copy on the host, in the order of its axes."""
        if elements.is_packed or not elements.nbytes:
            found = np.empty(elements.shape, dtype)
            if found.size:
                self.driver.read(_address(found), elements.address, elements.nbytes)
            return found
        if elements.span <= max(2 * elements.nbytes, self._small):
            found = self._read_span(elements, dtype)
        else:
            with self.pool.lent(elements.nbytes) as address:
                packed = elements.packed(address)
                self.copy(packed, elements)
                found = self._read_span(packed, dtype)
        return found if found.flags.c_contiguous else found.copy()

    def _read_span(self, elements: Strided, dtype: DType) -> Values:
        room = np.empty(elements.span, np.uint8)
        self.driver.read(_address(room), elements.address, elements.span)
        return np.ndarray(elements.shape, dtype, room.data, 0, elements.strides)

    def write(self, elements: Strided, values: Values) -> None:
        """Set elements to values of the host, of their shape and type."""
        if not elements.nbytes:
            return
        if elements.is_packed and values.flags.c_contiguous:
            self.driver.write(elements.address, _address(values), elements.nbytes)
        else:
            with self.pool.lent(elements.nbytes) as address:
                packed = elements.packed(address)
                room = np.empty(elements.nbytes, np.uint8)
                np.ndarray(values.shape, values.dtype, room.data, 0, packed.strides)[...] = values
                self.driver.write(address, _address(room), room.nbytes)
                self.copy(elements, packed)
        self.changes += 1

    # On the device.

    def clear(self, address: int, size: int) -> None:
        """Set bytes to 0."""
        self.driver.fill(address, 0, size)
        self.changes += 1

    def discard(self, address: int, size: int) -> None:
        """Set reserved bytes to 0."""
        self.driver.discard(address, size)
        self.changes += 1

    def copy(self, target: Strided, source: Strided) -> None:
        """Set elements to others, which they do not overlap."""
        if not target.nbytes:
            return
        if target.is_packed and source.is_packed:
            self.driver.copy(target.address, source.address, target.nbytes)
        else:
            together = loops([target, source])
            if not self._copy_runs(together, target.address, source.address):
                self.launch(Operation.COPY, together, [target, source])
        self.changes += 1

    def _copy_runs(self, together: Loops, target: int, source: int) -> bool:
        """Copy what is made of few pieces."""
        size, rest = together.runs()
        if prod(rest.extents) > _FEW:
            return False
        for index in product(*map(range, rest.extents)):
            to, of = (sum(i * step for i, step in zip(index, steps)) for steps in rest.strides)
            self.driver.copy(target + to, source + of, size)
        return True

    def exchange(self, one: Strided, other: Strided) -> None:
        """Swap elements with others, which they do not overlap."""
        if not one.nbytes:
            return
        if one.nbytes <= self._small and loops([one, other]).is_flat:
            with self.pool.lent(one.nbytes) as address:
                self.driver.copy(address, one.address, one.nbytes)
                self.driver.copy(one.address, other.address, one.nbytes)
                self.driver.copy(other.address, address, one.nbytes)
        else:
            self.launch(Operation.EXCHANGE, loops([one, other]), [one, other])
        self.changes += 1

    def add(self, target: Strided, source: Strided, dtype: DType) -> None:
        """Add others to elements."""
        if target.nbytes:
            word = f"{'f' if dtype.kind == 'f' else 'i'}{8 * dtype.itemsize}"
            together = loops([target, source], by_element=True)
            self.launch(Operation.ADD, together, [target, source], word=word)
            self.changes += 1

    def fill(self, elements: Strided, value: Values) -> None:
        """Set elements to a number, given as an array of one."""
        if not elements.nbytes:
            return
        together, pattern = loops([elements]), value.tobytes()
        if together.is_flat and len(set(pattern)) == 1:  # as 0 is
            self.driver.fill(elements.address, pattern[0], elements.nbytes)
        else:
            if together.width < elements.itemsize:
                together = loops([elements], by_element=True)
            number = _number(pattern, together.width)
            self.launch(Operation.FILL, together, [elements], [number])
        self.changes += 1

    def fill_where(self, elements: Strided, value: Values, mask: Values) -> None:
        """Set elements to a number, given as an array of one, where a mask of their shape is
        true."""
        if not elements.nbytes:
            return
        with self.pool.lent(mask.size) as address:
            places = contiguous(address, mask.shape, 1)
            self.write(places, np.ascontiguousarray(mask, np.uint8))
            together = loops([elements, places], by_element=True)
            number = _number(value.tobytes(), together.width)
            self.launch(Operation.FILL_WHERE, together, [elements, places], [number])
        self.changes += 1

    def differ(self, one: Strided, other: Strided) -> bool:
        """Whether elements have other bits than others."""
        if not one.nbytes:
            return False
        if max(one.span, other.span) <= self._small:
            dtype = np.dtype(f"V{one.itemsize}")
            return self.read(one, dtype).tobytes() != self.read(other, dtype).tobytes()
        return self._flag(Operation.DIFFER, loops([one, other]), [one, other])

    def any(self, elements: Strided, dtype: DType) -> bool:
        """Whether an element is not 0."""
        if elements.span <= self._small:
            return bool(self.read(elements, dtype).any())
        signless = np.array(-0.0, dtype).tobytes() if dtype.kind == "f" else bytes(dtype.itemsize)
        mask = bytes(255 - byte for byte in signless)  # all bits but the sign of a float's 0
        together = loops([elements])
        if together.width < elements.itemsize:
            together = loops([elements], by_element=True)
        number = _number(mask, together.width)
        return self._flag(Operation.ANY, together, [elements], [number])

    def _flag(
        self,
        operation: Operation,
        together: Loops,
        arrays: Sequence[Strided],
        numbers: Sequence[int] = (),
    ) -> bool:
        """What a kernel finds, in a byte."""
        with self.pool.lent(WIDEST) as flag:
            self.driver.fill(flag, 0, WIDEST)
            self.launch(operation, together, arrays, numbers, flag=flag)
            found = np.zeros(1, np.uint8)
            self.driver.read(_address(found), flag, 1)
        return bool(found[0])

    def launch(
        self,
        operation: Operation,
        together: Loops,
        arrays: Sequence[Strided],
        numbers: Sequence[int] = (),
        *,
        word: str = "",
        flag: int | None = None,
    ) -> None:
        """Run a kernel on arrays."""
        addresses = [array.address for array in arrays]
        self._services.launch(operation, together, addresses, word=word, flag=flag, numbers=numbers)


def _address(values: Values) -> int:
    """Where an array of the host is, found faster than by `ctypes`."""
    found: int = values.__array_interface__["data"][0]
    return found


def _number(pattern: bytes, width: int) -> int:
    """Bytes, again and again, as a word of a width."""
    return int.from_bytes((pattern * WIDEST)[:width], "little", signed=True)
