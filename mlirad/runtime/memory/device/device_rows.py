"""Rows of arrays that lie on a device."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.runtime.memory.device.device_allocation import DeviceAllocation
from mlirad.runtime.memory.device.service_ir import Operation
from mlirad.runtime.memory.device.strided import Loops, Strided, contiguous, loops
from mlirad.runtime.memory.device.transfers import Transfers
from mlirad.runtime.memory.memory import DType
from mlirad.runtime.memory.sparse.row_arrays import RowArray, RowCopy
from mlirad.runtime.memory.sparse.touched import Pieces, Places
from mlirad.runtime.memory.values import Values


class DeviceRowArray(RowArray):
    """An array on a device. Where rows begin is told by the host."""

    __slots__ = ("place", "transfers")

    def __init__(self, transfers: Transfers, place: Strided, dtype: DType) -> None:
        self.transfers, self.place = transfers, place
        self.shape, self.dtype = place.shape, dtype

    def split(self, pieces: Pieces) -> DeviceRowArray:
        shape, strides = pieces.split_axes(self.place.shape, self.place.strides)
        place = Strided(self.place.address, shape, strides, self.place.itemsize)
        return DeviceRowArray(self.transfers, place, self.dtype)

    def look(self, places: Places) -> Values:
        return self.load(places)

    def load(self, places: Places) -> Values:
        rows = self.rows(places, 0)
        with self.transfers.pool.lent(rows.nbytes) as address:
            self.gather(rows.at_address(address), places)
            return self.transfers.read(rows.at_address(address), self.dtype)

    def store(self, places: Places, values: Any) -> None:
        rows = self.rows(places, 0)
        if np.ndim(values):
            source = np.ascontiguousarray(np.broadcast_to(values, rows.shape), self.dtype)
        else:  # every row is the same number
            source = np.full(1, values, self.dtype)
            rows = Strided(0, rows.shape, (0,) * len(rows.shape), rows.itemsize)
        with self.transfers.pool.lent(source.nbytes) as address:
            self.transfers.write(contiguous(address, source.shape, rows.itemsize), source)
            self.scatter(places, rows.at_address(address))

    def set_where(self, places: Places, where: Values, value: Any) -> None:
        rows = self.rows(places, 0)
        with self.transfers.pool.lent(rows.nbytes) as address:
            self.gather(rows.at_address(address), places)
            self.transfers.fill_where(
                rows.at_address(address), np.full(1, value, self.dtype), where
            )
            self.scatter(places, rows.at_address(address))

    def hold(self, places: Places) -> DeviceRowCopy:
        return DeviceRowCopy(self, places)

    # Packed rows on the device.

    def rows(self, places: Places, address: int) -> Strided:
        """Rows, packed, at an address."""
        count = len(places[0]) if places else 1
        shape = (count, *self.place.shape[len(places) :])
        return contiguous(address, shape, self.place.itemsize)

    def gather(self, packed: Strided, places: Places) -> None:
        """Set packed rows to those at places."""
        self._move(Operation.GATHER, packed, places)

    def scatter(self, places: Places, packed: Strided) -> None:
        """Set rows at places to packed ones."""
        self._move(Operation.SCATTER, packed, places)

    def _move(self, operation: Operation, packed: Strided, places: Places) -> None:
        if not packed.nbytes:
            return
        row, starts = self._row(places), self._starts(places)
        inner = loops([packed.at((0,)), row], by_element=True)
        steps = [(of, *inside) for of, inside in zip((packed.strides[0], 0), inner.strides)]
        numbers = (starts.itemsize, *(0 for _ in inner.extents))
        joint = Loops(inner.width, (len(starts), *inner.extents), (*steps, numbers))
        with self.transfers.pool.lent(starts.nbytes) as address:
            words = contiguous(address, starts.shape, starts.itemsize)
            self.transfers.write(words, starts // inner.width)
            self.transfers.launch(operation, joint, [packed, row, words])
            self.transfers.changes += 1

    def _row(self, places: Places) -> Strided:
        """The first row that there is."""
        axes = len(places)
        shape, strides = self.place.shape[axes:], self.place.strides[axes:]
        return Strided(self.place.address, shape, strides, self.place.itemsize)

    def _starts(self, places: Places) -> Values:
        """The bytes from the first row to each."""
        starts: Values = np.zeros(len(places[0]) if places else 1, np.int64)
        for digits, stride in zip(places, self.place.strides):
            starts += digits * stride
        return starts


class DeviceRowCopy(RowCopy):
    """Packed rows in an allocation of their own."""

    __slots__ = ("_block", "_dtype", "_rows", "_transfers")

    def __init__(self, source: DeviceRowArray, places: Places) -> None:
        self._transfers, self._dtype = source.transfers, source.dtype
        self.nbytes = source.rows(places, 0).nbytes
        self._block = DeviceAllocation(self._transfers, self.nbytes)
        self._rows = source.rows(places, self._block.address)
        source.gather(self._rows, places)

    def values(self) -> Values:
        return self._transfers.read(self._rows, self._dtype)

    def put(self, target: RowArray, places: Places) -> None:
        assert isinstance(target, DeviceRowArray)
        target.scatter(places, self._rows)

    def add(self, target: RowArray, places: Places) -> None:
        assert isinstance(target, DeviceRowArray)
        with self._transfers.pool.lent(self.nbytes) as address:
            sums = self._rows.at_address(address)
            target.gather(sums, places)
            self._transfers.add(sums, self._rows, self._dtype)
            target.scatter(places, sums)

    def has_bits_of(self, other: RowCopy) -> bool:
        assert isinstance(other, DeviceRowCopy)
        return not self._transfers.differ(self._rows, other._rows)
