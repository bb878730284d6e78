"""Operations on elements in a device's memory: copies to the host and from it, and within the
device."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

import numpy as np

from mlirad.ir.memory.pages import is_paged
from mlirad.runtime.memory.device.driver import Driver
from mlirad.runtime.memory.device.pool import Pool
from mlirad.runtime.memory.device.service_ir import Operation
from mlirad.runtime.memory.device.services import Services
from mlirad.runtime.memory.device.strided import WIDEST, Loops, Strided, contiguous, loops
from mlirad.runtime.memory.memory import DType
from mlirad.runtime.memory.values import Values, address_of

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
        if not elements.nbytes:
            return np.empty(elements.shape, dtype)
        if is_paged(elements.address):
            return self._read_copy(elements, dtype)
        if elements.is_packed:
            values = np.empty(elements.shape, dtype)
            self.driver.read(address_of(values), elements.address, elements.nbytes)
            return values
        if elements.span <= max(2 * elements.nbytes, self._small):
            values = self._read_span(elements, dtype)
        else:
            return self._read_copy(elements, dtype)
        return values if values.flags.c_contiguous else values.copy()

    def _read_copy(self, elements: Strided, dtype: DType) -> Values:
        with self.pool.lent(elements.nbytes) as address:
            packed = elements.pack(address)
            self.copy(packed, elements)
            values = self._read_span(packed, dtype)
        return values if values.flags.c_contiguous else values.copy()

    def _read_span(self, elements: Strided, dtype: DType) -> Values:
        room = np.empty(elements.span, np.uint8)
        self.driver.read(address_of(room), elements.address, elements.span)
        return np.ndarray(elements.shape, dtype, room.data, 0, elements.strides)

    def write(self, elements: Strided, values: Values) -> None:
        """Set elements to values of the host, of their shape and type."""
        if not elements.nbytes:
            return
        is_run = elements.is_packed and values.flags.c_contiguous
        if is_run and not is_paged(elements.address):
            self.driver.write(elements.address, address_of(values), elements.nbytes)
        else:
            with self.pool.lent(elements.nbytes) as address:
                packed = elements.pack(address)
                room = np.empty(elements.nbytes, np.uint8)
                np.ndarray(values.shape, values.dtype, room.data, 0, packed.strides)[...] = values
                self.driver.write(address, address_of(room), room.nbytes)
                self.copy(elements, packed)
        self.changes += 1

    # On the device.

    def clear(self, address: int, size: int) -> None:
        """Set bytes to 0."""
        self.driver.fill(address, 0, size)
        self.changes += 1

    def copy(self, target: Strided, source: Strided) -> None:
        """Set elements to others, which they do not overlap."""
        if not target.nbytes:
            return
        is_plain = not (is_paged(target.address) or is_paged(source.address))
        if is_plain and target.is_packed and source.is_packed:
            self.driver.copy(target.address, source.address, target.nbytes)
        else:
            joint = loops([target, source])
            if not (is_plain and self._copy_runs(joint, target.address, source.address)):
                self.launch(Operation.COPY, joint, [target, source])
        self.changes += 1

    def _copy_runs(self, joint: Loops, target: int, source: int) -> bool:
        """Copy what is made of few pieces."""
        size, runs = joint.runs()
        if prod(runs.extents) > _FEW:
            return False
        for index in product(*map(range, runs.extents)):
            to, of = (sum(i * step for i, step in zip(index, steps)) for steps in runs.strides)
            self.driver.copy(target + to, source + of, size)
        return True

    def exchange(self, left: Strided, right: Strided) -> None:
        """Swap elements with others, which they do not overlap."""
        if not left.nbytes:
            return
        is_plain = not (is_paged(left.address) or is_paged(right.address))
        if is_plain and left.nbytes <= self._small and loops([left, right]).is_flat:
            with self.pool.lent(left.nbytes) as address:
                self.driver.copy(address, left.address, left.nbytes)
                self.driver.copy(left.address, right.address, left.nbytes)
                self.driver.copy(right.address, address, left.nbytes)
        else:
            self.launch(Operation.EXCHANGE, loops([left, right]), [left, right])
        self.changes += 1

    def add(self, target: Strided, source: Strided, dtype: DType) -> None:
        """Add others to elements."""
        if target.nbytes:
            word = f"{'f' if dtype.kind == 'f' else 'i'}{8 * dtype.itemsize}"
            joint = loops([target, source], by_element=True)
            self.launch(Operation.ADD, joint, [target, source], word=word)
            self.changes += 1

    def fill(self, elements: Strided, value: Values) -> None:
        """Set elements to a number, given as an array of one."""
        if not elements.nbytes:
            return
        joint, pattern = loops([elements]), value.tobytes()
        is_run = joint.is_flat and not is_paged(elements.address)
        if is_run and len(set(pattern)) == 1:  # as 0 is
            self.driver.fill(elements.address, pattern[0], elements.nbytes)
        else:
            if joint.width < elements.itemsize:
                joint = loops([elements], by_element=True)
            number = _number(pattern, joint.width)
            self.launch(Operation.FILL, joint, [elements], [number])
        self.changes += 1

    def fill_where(self, elements: Strided, value: Values, mask: Values) -> None:
        """Set elements to a number, given as an array of one, where a mask of their shape is
        true."""
        if not elements.nbytes:
            return
        with self.pool.lent(mask.size) as address:
            places = contiguous(address, mask.shape, 1)
            self.write(places, np.ascontiguousarray(mask, np.uint8))
            joint = loops([elements, places], by_element=True)
            number = _number(value.tobytes(), joint.width)
            self.launch(Operation.FILL_WHERE, joint, [elements, places], [number])
        self.changes += 1

    def differ(self, left: Strided, right: Strided) -> bool:
        """Return whether elements have other bits than others."""
        if not left.nbytes:
            return False
        if max(left.span, right.span) <= self._small:
            dtype = np.dtype(f"V{left.itemsize}")
            return self.read(left, dtype).tobytes() != self.read(right, dtype).tobytes()
        return self._flag(Operation.DIFFER, loops([left, right]), [left, right])

    def any(self, elements: Strided, dtype: DType) -> bool:
        """Return whether an element is not 0."""
        if elements.span <= self._small:
            return bool(self.read(elements, dtype).any())
        signless = np.array(-0.0, dtype).tobytes() if dtype.kind == "f" else bytes(dtype.itemsize)
        mask = bytes(255 - byte for byte in signless)  # all bits but the sign of a float's 0
        joint = loops([elements])
        if joint.width < elements.itemsize:
            joint = loops([elements], by_element=True)
        number = _number(mask, joint.width)
        return self._flag(Operation.ANY, joint, [elements], [number])

    def _flag(
        self,
        operation: Operation,
        joint: Loops,
        arrays: Sequence[Strided],
        numbers: Sequence[int] = (),
    ) -> bool:
        """Return the flag that a kernel computes, from a byte."""
        with self.pool.lent(WIDEST) as flag:
            self.driver.fill(flag, 0, WIDEST)
            self.launch(operation, joint, arrays, numbers, flag=flag)
            byte = np.zeros(1, np.uint8)
            self.driver.read(address_of(byte), flag, 1)
        return bool(byte[0])

    def launch(
        self,
        operation: Operation,
        joint: Loops,
        arrays: Sequence[Strided],
        numbers: Sequence[int] = (),
        *,
        word: str = "",
        flag: int | None = None,
    ) -> None:
        """Run a kernel on arrays."""
        addresses = [array.address for array in arrays]
        self._services.launch(operation, joint, addresses, word=word, flag=flag, numbers=numbers)


def _number(pattern: bytes, width: int) -> int:
    """Bytes, again and again, as a word of a width."""
    return int.from_bytes((pattern * WIDEST)[:width], "little", signed=True)
