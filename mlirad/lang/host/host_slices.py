"""Parts of fields and ndarrays in Python scope: `x[2:5]`, `x[:, 3] = a`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from itertools import product
from operator import index as integer
from typing import Any

import msgspec
import numpy as np

from mlirad.errors import TaichiIndexError
from mlirad.lang.host.host_array import HostArray, Values
from mlirad.lang.host.host_values import array_of
from mlirad.runtime.boxes import Box
from mlirad.runtime.memory.memory import Elements


class Part(msgspec.Struct, frozen=True):
    """Positions along each index axis, from 0 on; an axis that an integer names is not `kept`."""

    positions: tuple[range, ...]
    kept: tuple[bool, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of the axes that are kept."""
        return tuple(len(p) for p, keeps in zip(self.positions, self.kept) if keeps)

    @property
    def is_box(self) -> bool:
        """Whether the positions are next to one another."""
        return all(positions.step == 1 for positions in self.positions)

    def box(self, components: int) -> Box:
        """The least box around the positions, of which there are some, with all of the components
        on so many axes."""
        return (*((min(p), max(p)) for p in self.positions), *((None, None),) * components)

    def is_all(self, shape: tuple[int, ...]) -> bool:
        """Whether these are all positions of an array, in order."""
        return self.positions == tuple(range(extent) for extent in shape)


def part_of(key: object, shape: tuple[int, ...], start: Sequence[int]) -> Part | None:
    """What a subscript with slices names; None for one without. Where indices do not `start` at 0,
    negative ones do not count from the end.

    Raises TaichiIndexError for too many axes, or an integer out of bounds.
    """
    if isinstance(key, int):  # most subscripts are of elements
        return None
    parts: tuple[Any, ...] = key if isinstance(key, tuple) else (key,)
    kinds = list(map(type, parts))
    if slice not in kinds and type(Ellipsis) not in kinds:
        return None
    if Ellipsis in parts:
        at = parts.index(Ellipsis)
        missing = max(0, len(shape) - len(parts) + 1)
        parts = (*parts[:at], *[slice(None)] * missing, *parts[at + 1 :])
    if len(parts) > len(shape):
        raise TaichiIndexError(f"{key} has {len(parts)} axes, an array of shape {shape} fewer")
    parts = (*parts, *[slice(None)] * (len(shape) - len(parts)))
    offsets = tuple(start) or (0,) * len(shape)
    found = [_positions(part, n, offset) for part, n, offset in zip(parts, shape, offsets)]
    return Part(tuple(found), tuple(isinstance(part, slice) for part in parts))


def _positions(part: Any, extent: int, offset: int) -> range:
    if not isinstance(part, slice):
        position = integer(part) - offset
        if not 0 <= position < extent:
            raise TaichiIndexError(
                f"index {part} is out of bounds: {offset} to {offset + extent - 1} are there"
            )
        return range(position, position + 1)
    if not offset:
        return range(extent)[part]
    step = 1 if part.step is None else part.step
    first, last = (0, extent) if step > 0 else (extent - 1, -1)
    low = first if part.start is None else min(max(part.start - offset, 0), extent)
    high = last if part.stop is None else min(max(part.stop - offset, -1), extent)
    return range(low, high, step)


class SlicedArray(HostArray):
    """An array of which Python reads and writes parts."""

    shape: Any

    @abstractmethod
    def to_numpy(self) -> Values:
        """A copy of all elements."""

    @abstractmethod
    def from_numpy(self, values: object) -> None:
        """Set all elements."""

    @abstractmethod
    def _set_element(self, key: object, value: object) -> None:
        """Set an element."""

    @abstractmethod
    def _whole(self) -> Elements | None:
        """All elements, where they have the array's axes and none is left out."""

    @property
    def _start(self) -> tuple[int, ...]:
        """The first index along each axis; empty for zeros."""
        return ()

    def names_part(self, key: object) -> bool:
        """Whether a subscript has slices."""
        return part_of(key, self.shape, self._start) is not None

    def __getitem__(self, key: object) -> Any:
        part = part_of(key, self.shape, self._start)
        return super().__getitem__(key) if part is None else self._read_part(part)

    def __setitem__(self, key: object, value: object) -> None:
        part = part_of(key, self.shape, self._start)
        if part is None:
            self._set_element(key, value)
        else:
            self._write_part(part, value)

    def _read_part(self, part: Part) -> Values:
        """A copy of a part."""
        shape = (*part.shape, *self.element_shape)
        elements = self._whole() if part.is_box and all(map(len, part.positions)) else None
        if elements is None:
            return self.to_numpy()[np.ix_(*part.positions)].reshape(shape)
        self.note_read()
        return elements.read(part.box(len(self.element_shape))).reshape(shape)

    def _write_part(self, part: Part, value: object) -> None:
        """Set a part to values of its shape, or of one that NumPy makes its."""
        values = np.broadcast_to(
            array_of(value, self.described), (*part.shape, *self.element_shape)
        )
        extents = (*map(len, part.positions), *self.element_shape)
        values = self.fitted(values.reshape(extents))
        elements = self._whole() if part.is_box and values.size else None
        if part.is_all(self.shape):
            self.from_numpy(values)
        elif elements is None or self.program.threads.recorder is not None:
            start = self._start or (0,) * len(part.positions)
            for at in product(*(range(len(positions)) for positions in part.positions)):
                place = tuple(p[k] + o for p, k, o in zip(part.positions, at, start))
                self._set_element(place, values[at])
        else:
            self.note_write()
            elements.write(values, part.box(len(self.element_shape)))
