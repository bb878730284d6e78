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
from mlirad.lang.host.element_arrays import LibraryCopies
from mlirad.lang.host.host_array import HostArray
from mlirad.lang.host.host_values import array_of
from mlirad.lang.host.indexed_elements import OrderedElements
from mlirad.runtime.boxes import Box
from mlirad.runtime.memory.values import Values


class Section(msgspec.Struct, frozen=True):
    """Positions along each index axis, from 0 on; an axis that an integer names is not `kept`."""

    positions: tuple[range, ...]
    is_kept: tuple[bool, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of the axes that are kept."""
        return tuple(len(p) for p, keeps in zip(self.positions, self.is_kept) if keeps)

    @property
    def is_box(self) -> bool:
        """Return whether the positions are next to one another."""
        return all(positions.step == 1 for positions in self.positions)

    def box(self, components: int) -> Box:
        """The least box around the positions, of which there are some, with all of the components
        on so many axes."""
        return (*((min(p), max(p)) for p in self.positions), *((None, None),) * components)

    def is_all(self, shape: tuple[int, ...]) -> bool:
        """Return whether these are all positions of an array, in order."""
        return self.positions == tuple(range(extent) for extent in shape)


def section_of(key: object, shape: tuple[int, ...], start: Sequence[int]) -> Section | None:
    """Return the section that a subscript with slices names; None if it has no slices. Where
    indices do not `start` at 0, negative ones do not count from the end.

    Raises TaichiIndexError for too many axes, or an integer out of bounds.
    """
    if isinstance(key, int):  # most subscripts are of elements
        return None
    entries: tuple[Any, ...] = key if isinstance(key, tuple) else (key,)
    kinds = list(map(type, entries))
    if slice not in kinds and type(Ellipsis) not in kinds:
        return None
    if Ellipsis in entries:
        at = entries.index(Ellipsis)
        missing = max(0, len(shape) - len(entries) + 1)
        entries = (*entries[:at], *[slice(None)] * missing, *entries[at + 1 :])
    if len(entries) > len(shape):
        raise TaichiIndexError(
            f"{key} has {len(entries)} indices, but an array of shape {shape} has fewer axes"
        )
    entries = (*entries, *[slice(None)] * (len(shape) - len(entries)))
    offsets = tuple(start) or (0,) * len(shape)
    positions = [_positions(entry, n, offset) for entry, n, offset in zip(entries, shape, offsets)]
    return Section(tuple(positions), tuple(isinstance(entry, slice) for entry in entries))


def _positions(entry: Any, extent: int, offset: int) -> range:
    if not isinstance(entry, slice):
        position = integer(entry) - offset
        if not 0 <= position < extent:
            raise TaichiIndexError(
                f"index {entry} is out of bounds: expected {offset} to {offset + extent - 1}"
            )
        return range(position, position + 1)
    if not offset:
        return range(extent)[entry]
    step = 1 if entry.step is None else entry.step
    first, last = (0, extent) if step > 0 else (extent - 1, -1)
    low = first if entry.start is None else min(max(entry.start - offset, 0), extent)
    high = last if entry.stop is None else min(max(entry.stop - offset, -1), extent)
    return range(low, high, step)


class SlicedArray(HostArray, LibraryCopies):
    """An array of which Python reads and writes parts."""

    shape: Any

    @abstractmethod
    def _set_element(self, key: object, value: object) -> None:
        """Set an element."""

    @abstractmethod
    def _ordered_elements(self) -> OrderedElements | None:
        """All elements, where they have the array's axes and none is left out."""

    @property
    def _start(self) -> tuple[int, ...]:
        """The first index along each axis; empty for zeros."""
        return ()

    def has_slices(self, key: object) -> bool:
        return section_of(key, self.shape, self._start) is not None

    def __getitem__(self, key: object) -> Any:
        section = section_of(key, self.shape, self._start)
        return super().__getitem__(key) if section is None else self._read_section(section)

    def __setitem__(self, key: object, value: object) -> None:
        section = section_of(key, self.shape, self._start)
        if section is None:
            self._set_element(key, value)
        else:
            self._write_section(section, value)

    def _read_section(self, section: Section) -> Any:
        """A copy of a part; of an ndarray, a view, in programs that have them."""
        make_view = self.program.make_view
        if make_view is not None and getattr(self, "is_passed", False):
            return make_view(self, section.positions)
        return self.copy_section(section)

    def copy_section(self, section: Section) -> Values:
        """Return a NumPy copy of a part, also in programs whose slices are views."""
        shape = (*section.shape, *self.element_shape)
        elements = (
            self._ordered_elements()
            if section.is_box and all(map(len, section.positions))
            else None
        )
        if elements is None:
            return self.to_numpy()[np.ix_(*section.positions)].reshape(shape)
        self.note_read()
        return elements.read(section.box(len(self.element_shape))).reshape(shape)

    def _repeated(self, values: Values, shape: tuple[int, ...]) -> Values:
        try:
            return np.broadcast_to(values, shape)
        except ValueError:
            raise ValueError(
                f"a part of shape {shape} of {self.description} takes a number or an array that "
                f"NumPy broadcasts to it, not one of shape {values.shape}"
            ) from None

    def _write_section(self, section: Section, value: object) -> None:
        """Set a part to values of its shape, or of one that NumPy makes its."""
        values = self._repeated(
            array_of(value, self.description), (*section.shape, *self.element_shape)
        )
        extents = (*map(len, section.positions), *self.element_shape)
        values = self.fit(values.reshape(extents))
        elements = self._ordered_elements() if section.is_box and values.size else None
        if section.is_all(self.shape):
            self.from_numpy(values)
        elif elements is None or self.program.threads.recorder is not None:
            start = self._start or (0,) * len(section.positions)
            for at in product(*(range(len(positions)) for positions in section.positions)):
                place = tuple(p[k] + o for p, k, o in zip(section.positions, at, start))
                self._set_element(place, values[at])
        else:
            self.note_write()
            elements.write(values, section.box(len(self.element_shape)))
