"""A field of a whole grid: in one rank, or in a file."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from mlirad.distributed.files import create, read, write
from mlirad.distributed.ranks import Ranks
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
        given = self.ranks.together(lambda: np.asarray(values) if is_root else None)
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

    def save(self, one: Field, path: str, name: str) -> None:
        """Write it to a file."""
        self._agree("save", one, f"{path} {name}")
        shape, dtype = (*self.grid.shape, *one.element_shape), one.dtype.numpy
        place, own, ranks = _slices(self.grid.local), self._own(one), self.ranks
        begin = ranks.together(
            lambda: create(path, name, shape, dtype) if ranks.rank == 0 else None
        )
        begin = ranks.comm.bcast(begin, 0)
        ranks.together(lambda: write(path, begin, shape, place, own))

    def load(self, one: Field, path: str, name: str) -> None:
        """Read it from a file. Raises ValueError for another shape."""
        self._agree("load", one, f"{path} {name}")
        shape, place = (*self.grid.shape, *one.element_shape), _slices(self.grid.local)
        self._set(one, self.ranks.together(lambda: read(path, name, shape, place)))

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
