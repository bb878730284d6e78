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
    """The interface of a grid for whole arrays."""

    ranks: Ranks
    shape: tuple[int, ...]
    halo: int
    local: tuple[Range, ...]

    def block_of(self, rank: int) -> tuple[Range, ...]:
        """The cells of a rank."""


class WholeArrays:
    """A field of all ranks' blocks, without halos."""

    def __init__(self, grid: Blocks) -> None:
        self.grid, self.ranks = grid, grid.ranks

    def gather(self, field: Field, root: int) -> Array | None:
        """The field as an array in one rank; None in others."""
        self._agree("to_numpy", field, f"to rank {root}")
        blocks = self.ranks.comm.gather(self._block(field), root)
        if self.ranks.rank != root:
            return None
        array = np.empty((*self.grid.shape, *field.element_shape), field.dtype.numpy)
        for rank, block in enumerate(blocks):
            array[_slices(self.grid.block_of(rank))] = block
        return array

    def scatter(self, field: Field, values: Any, root: int) -> None:
        """Set the field to an array of one rank. Raises ValueError, in all, for another shape."""
        self._agree("from_numpy", field, f"from rank {root}")
        is_root = self.ranks.rank == root
        array = self.ranks.together(lambda: np.asarray(values) if is_root else None)
        expected = (*self.grid.shape, *field.element_shape)
        shape = self.ranks.comm.bcast(array.shape if array is not None else None, root)
        if shape != expected:
            raise ValueError(f"Grid.from_numpy: the grid has {expected}, the array has {shape}")
        blocks = None
        if array is not None:
            blocks = [
                np.ascontiguousarray(array[_slices(self.grid.block_of(rank))])
                for rank in range(self.ranks.size)
            ]
        self._set_block(field, self.ranks.comm.scatter(blocks, root))

    def save(self, field: Field, path: str, name: str) -> None:
        """Write it to a file."""
        self._agree("save", field, f"{path} {name}")
        shape, dtype = (*self.grid.shape, *field.element_shape), field.dtype.numpy
        place, block, ranks = _slices(self.grid.local), self._block(field), self.ranks
        begin = ranks.together(
            lambda: create(path, name, shape, dtype) if ranks.rank == 0 else None
        )
        begin = ranks.comm.bcast(begin, 0)
        ranks.together(lambda: write(path, begin, shape, place, block))

    def load(self, field: Field, path: str, name: str) -> None:
        """Read it from a file. Raises ValueError for another shape."""
        self._agree("load", field, f"{path} {name}")
        shape, place = (*self.grid.shape, *field.element_shape), _slices(self.grid.local)
        self._set_block(field, self.ranks.together(lambda: read(path, name, shape, place)))

    def _agree(self, action: str, field: Field, more: str) -> None:
        self.ranks.agree(f"Grid.{action} of {field.dtype}{list(field.element_shape)} {more}")

    def _inside(self) -> tuple[slice, ...]:
        halo = self.grid.halo
        return tuple(slice(halo, halo + end - begin) for begin, end in self.grid.local)

    def _block(self, field: Field) -> Array:
        return np.ascontiguousarray(field.to_numpy()[self._inside()])

    def _set_block(self, field: Field, block: Array) -> None:
        values = field.to_numpy()
        values[self._inside()] = block
        field.from_numpy(values)


def _slices(ranges: tuple[Range, ...]) -> tuple[slice, ...]:
    return tuple(slice(begin, end) for begin, end in ranges)
