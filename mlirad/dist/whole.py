"""A field of a whole grid: in one rank, or in a file."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from mlirad.dist.ranks import Ranks
from mlirad.lang.field.field import Field

Array = np.ndarray[Any, Any]
Range = tuple[int, int]


class Blocks(Protocol):
    """What is asked of a grid."""

    ranks: Ranks
    shape: tuple[int, ...]
    halo: int
    local: tuple[Range, ...]

    def block_of(self, rank: int) -> tuple[Range, ...]:
        """The cells of a rank."""


class Whole:
    """A field of all ranks' blocks, without halos."""

    def __init__(self, grid: Blocks) -> None:
        self.grid, self.ranks = grid, grid.ranks

    def gather(self, one: Field, root: int) -> Array | None:
        """The field as an array in one rank; None in others."""
        self._agree("to_numpy", one, f"to rank {root}")
        parts = self.ranks.comm.gather(self._own(one), root)
        if self.ranks.rank != root:
            return None
        found = np.empty((*self.grid.shape, *one.element_shape), one.dtype.numpy)
        for rank, part in enumerate(parts):
            found[_slices(self.grid.block_of(rank))] = part
        return found

    def scatter(self, one: Field, values: Any, root: int) -> None:
        """Set the field to an array of one rank. Raises ValueError, in all, for another shape."""
        self._agree("from_numpy", one, f"from rank {root}")
        is_root = self.ranks.rank == root
        given = np.asarray(values) if is_root else None
        expected = (*self.grid.shape, *one.element_shape)
        shape = self.ranks.comm.bcast(given.shape if given is not None else None, root)
        if shape != expected:
            raise ValueError(f"Grid.from_numpy: the grid has {expected}, the array has {shape}")
        parts = None
        if given is not None:
            parts = [
                np.ascontiguousarray(given[_slices(self.grid.block_of(rank))])
                for rank in range(self.ranks.size)
            ]
        self._set(one, self.ranks.comm.scatter(parts, root))

    def save(self, one: Field, path: str) -> None:
        """Write it to a file."""
        self._agree("save", one, path)
        shape, dtype = (*self.grid.shape, *one.element_shape), one.dtype.numpy
        if self.ranks.rank == 0:
            np.lib.format.open_memmap(path, "w+", dtype, shape).flush()
        self.ranks.agree(f"the file {path} is there")
        file = np.lib.format.open_memmap(path, "r+")
        file[_slices(self.grid.local)] = self._own(one)
        file.flush()
        self.ranks.agree(f"the file {path} is written")

    def load(self, one: Field, path: str) -> None:
        """Read it from a file. Raises ValueError for another shape."""
        self._agree("load", one, path)
        file = np.load(path, mmap_mode="r")
        expected = (*self.grid.shape, *one.element_shape)
        if file.shape != expected:
            raise ValueError(f"Grid.load: the grid has {expected}, {path} has {file.shape}")
        self._set(one, np.asarray(file[_slices(self.grid.local)]))

    def _agree(self, what: str, one: Field, more: str) -> None:
        self.ranks.agree(f"Grid.{what} of {one.dtype}{list(one.element_shape)} {more}")

    def _inside(self) -> tuple[slice, ...]:
        halo = self.grid.halo
        return tuple(slice(halo, halo + end - begin) for begin, end in self.grid.local)

    def _own(self, one: Field) -> Array:
        return np.ascontiguousarray(one.to_numpy()[self._inside()])

    def _set(self, one: Field, part: Array) -> None:
        values = one.to_numpy()
        values[self._inside()] = part
        one.from_numpy(values)


def _slices(ranges: tuple[Range, ...]) -> tuple[slice, ...]:
    return tuple(slice(begin, end) for begin, end in ranges)
