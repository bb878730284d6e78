"""A grid cut over ranks: who owns which cells, and the cells of neighbors beside them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import msgspec
import numpy as np

from mlirad.distributed.collectives import carry_out, check
from mlirad.distributed.halo import Collection, Exchange, Flight, Link
from mlirad.distributed.mpi import MPI
from mlirad.distributed.ranks import ranks
from mlirad.distributed.whole import WholeArrays
from mlirad.errors import TaichiRuntimeError, TaichiTypeError
from mlirad.lang.field.declaration import field
from mlirad.lang.field.field import Field
from mlirad.lang.matrix import Vector
from mlirad.runtime.boxes import Box
from mlirad.types import TypeLike

Range = tuple[int, int]


class Cut(msgspec.Struct, frozen=True):
    """The cells of one axis, over so many ranks: blocks of equal sizes, but for one cell."""

    cells: int
    parts: int

    def block(self, position: int) -> Range:
        """The first cell of a rank, and the one behind its last."""
        size, more = divmod(self.cells, self.parts)
        begin = position * size + min(position, more)
        return begin, begin + size + (position < more)


class Grid:
    """A grid of cells in one to three dimensions, of which each rank owns a block. A rank also
    holds a halo of cells around its block.

    Fields of the grid (`field`, `vector`) are indexed with the indices of the whole grid. Kernels
    loop over `local`, the ranges of cells that a rank owns, and may read the halo, which `exchange`
    fills.

    Args:
        shape: the extents of the whole grid.
        halo: the width of the halo in cells.
        periodic: whether the axes are periodic: a bool, or one for each axis. The halo beyond the
            ends of other axes is never filled.
        cuts: the number of ranks along each axis. By default blocks are as close to cubes as
            possible.

    Raises:
        TaichiTypeError: the shape does not have one to three axes.
        TaichiRuntimeError: a block would be smaller than the halo.
    """

    def __init__(
        self,
        shape: int | Sequence[int],
        halo: int = 1,
        periodic: bool | Sequence[bool] = False,
        cuts: Sequence[int] | None = None,
    ) -> None:
        self.ranks = ranks()
        self.shape = (shape,) if isinstance(shape, int) else tuple(shape)
        self.halo, rank = halo, len(self.shape)
        if not 1 <= rank <= 3 or halo < 0 or min(self.shape) < 1:
            raise TaichiTypeError(
                f"dist.Grid has one to three axes and a halo of 0 or more cells, not {shape!r} and "
                f"{halo!r}"
            )
        self.periodic = (periodic,) * rank if isinstance(periodic, bool) else tuple(periodic)
        self.cuts = tuple(cuts) if cuts is not None else _cuts(self.shape, self.ranks.size)
        if len(self.cuts) != rank or len(self.periodic) != rank:
            raise TaichiTypeError("dist.Grid: cuts= and periodic= have an entry for each axis")
        if int(np.prod(self.cuts)) != self.ranks.size:
            raise TaichiRuntimeError(
                f"dist.Grid: {self.cuts} cuts are for {int(np.prod(self.cuts))} ranks, and there "
                f"are {self.ranks.size}"
            )
        self.ranks.agree(f"a grid of {self.shape}, {halo}, {self.periodic}, {self.cuts}")
        self.axes = [Cut(n, count) for n, count in zip(self.shape, self.cuts)]
        if any(n // count < halo for n, count in zip(self.shape, self.cuts)):
            raise TaichiRuntimeError(
                f"dist.Grid: {self.shape} cells cut {self.cuts} times are blocks smaller than the "
                f"halo of {halo}: use fewer ranks, or a smaller halo"
            )
        self.place = self.place_of(self.ranks.rank)
        self.local = self.block_of(self.ranks.rank)
        self._transfers: dict[tuple[str, tuple[int, ...]], Exchange | Collection] = {}

    # Who owns what.

    def place_of(self, rank: int) -> tuple[int, ...]:
        """Return the position of a rank's block among the blocks."""
        return tuple(int(index) for index in np.unravel_index(rank, self.cuts))

    def block_of(self, rank: int) -> tuple[Range, ...]:
        """Return the cells of a rank: for each axis the first index and the one after the last."""
        return tuple(axis.block(position) for axis, position in zip(self.axes, self.place_of(rank)))

    def owner(self, *cell: int) -> int:
        """Return the rank that owns a cell."""
        blocks = []
        for axis, index in zip(self.axes, cell, strict=True):
            size, more = divmod(axis.cells, axis.parts)
            edge = more * (size + 1)
            blocks.append(index // (size + 1) if index < edge else more + (index - edge) // size)
        return int(np.ravel_multi_index(blocks, self.cuts))

    @property
    def extents(self) -> tuple[int, ...]:
        """Return the shape of the fields of a rank: its block with the halo."""
        return tuple(end - begin + 2 * self.halo for begin, end in self.local)

    @property
    def offset(self) -> tuple[int, ...]:
        """Return the first index of the fields of a rank along each axis."""
        return tuple(begin - self.halo for begin, _ in self.local)

    @property
    def inner(self) -> tuple[Range, ...]:
        """Return the cells of this rank that do not read the halo at any distance up to its width.
        You can compute them between `begin` and `finish`."""
        halo = self.halo
        return tuple((begin + halo, max(begin + halo, end - halo)) for begin, end in self.local)

    @property
    def rim(self) -> list[tuple[Range, ...]]:
        """Return the cells of this rank that are not in `inner`, as boxes."""
        boxes: list[tuple[Range, ...]] = []
        for axis, ((begin, end), (low, high)) in enumerate(zip(self.local, self.inner)):
            high = max(low, high)
            for side in ((begin, min(low, end)), (max(high, min(low, end)), end)):
                if side[0] < side[1]:
                    box = (*self.inner[:axis], side, *self.local[axis + 1 :])
                    if all(first < last for first, last in box):
                        boxes.append(box)
        return boxes

    # Fields.

    def field(self, dtype: TypeLike, needs_grad: bool = False, needs_dual: bool = False) -> Any:
        """Declare a field of scalars on the cells of this rank and its halo."""
        return field(
            dtype,
            shape=self.extents,
            offset=self.offset,
            needs_grad=needs_grad,
            needs_dual=needs_dual,
        )

    def vector(self, n: int, dtype: TypeLike, needs_grad: bool = False) -> Any:
        """Declare a field of vectors on the cells of this rank and its halo."""
        return Vector.field(n, dtype, shape=self.extents, offset=self.offset, needs_grad=needs_grad)

    # Communication.

    def exchange(self, *fields: Field) -> None:
        """Fill the halo of fields with the values of their owners. In the reverse, adjoints in the
        halo are added to their owners, and the halo is cleared."""
        carry_out(self._transfer("exchange", fields, Exchange))

    def collect(self, *fields: Field) -> None:
        """Add the values in the halo to the cells of their owners, and set the halo to 0, for
        kernels that scatter beyond their block. This is the transpose of `exchange`."""
        carry_out(self._transfer("collect", fields, Collection))

    def begin(self, *fields: Field) -> Flight:
        """Begin an exchange; `finish()` of the result fills the halo. In between, kernels may
        compute cells that do not need the halo (`inner`). They must not read the halo, nor write
        cells next to the halo."""
        return Flight(self._transfer("exchange", fields, Exchange))

    def _transfer(self, name: str, fields: Sequence[Field], kind: Any) -> Any:
        if not fields:
            raise TaichiTypeError(f"Grid.{name} takes fields")
        for field_ in fields:
            self.check(name, field_)
        key = name, tuple(map(id, fields))
        if key not in self._transfers:
            self._transfers[key] = kind(self.ranks, self, fields)
        return self._transfers[key]

    def check(self, name: str, one: Field) -> None:
        """Raise TaichiTypeError if a field does not belong to this grid."""
        check(f"Grid.{name}", one)
        if not isinstance(one, Field) or one.shape != self.extents:
            raise TaichiTypeError(
                f"Grid.{name}: a field of this grid has shape {self.extents} in this rank, not "
                f"{one.shape}"
            )

    def links(self) -> list[Link]:
        """Return the neighbors of this rank, and for each the cells that they share: in its block
        and in its halo."""
        neighbours = []
        for step in product((-1, 0, 1), repeat=len(self.shape)):
            if any(step) and (peer := self._neighbour(step)) is not None:
                owned, beyond = [], []
                for side, (begin, end) in zip(step, self.local):
                    low, high, halo = self.halo, self.halo + end - begin, self.halo
                    inside = {-1: (low, low + halo), 0: (low, high), 1: (high - halo, high)}
                    outside = {-1: (low - halo, low), 0: (low, high), 1: (high, high + halo)}
                    owned.append(inside[side])
                    beyond.append(outside[side])
                neighbours.append(Link(step, peer, _box(owned), _box(beyond)))
        return neighbours if self.halo else []

    def _neighbour(self, step: Sequence[int]) -> int | None:
        place = []
        for at, move, count, is_closed in zip(self.place, step, self.cuts, self.periodic):
            if not 0 <= at + move < count and not is_closed:
                return None
            place.append((at + move) % count)
        return int(np.ravel_multi_index(place, self.cuts))

    # The whole, outside of derivatives.

    def to_numpy(self, one: Field, root: int = 0) -> Any:
        """Return a field of the whole grid as an array on one rank, and None on the others."""
        self.check("to_numpy", one)
        return WholeArrays(self).gather(one, root)

    def from_numpy(self, one: Field, values: Any, root: int = 0) -> None:
        """Set a field from an array of the whole grid on one rank; other ranks pass None."""
        self.check("from_numpy", one)
        WholeArrays(self).scatter(one, values, root)

    def save(self, one: Field, path: str, name: str = "data") -> None:
        """Write a field of the whole grid to a file. All ranks write their blocks at the same time,
        on a shared file system: to a new NumPy file (`.npy`), or to the data set `name` of a new or
        existing HDF5 file (`.h5`)."""
        self.check("save", one)
        WholeArrays(self).save(one, path, name)

    def load(self, one: Field, path: str, name: str = "data") -> None:
        """Set a field from a file that `save` wrote with any number of ranks, or from any array in
        these formats. Raises ValueError if the shapes differ."""
        self.check("load", one)
        WholeArrays(self).load(one, path, name)


def _cuts(shape: Sequence[int], size: int) -> tuple[int, ...]:
    """Return how often axes are cut so that blocks are near to cubes: more often the longer
    ones."""
    counts = sorted(MPI.Compute_dims(size, len(shape)), reverse=True)
    longest = sorted(range(len(shape)), key=lambda axis: -shape[axis])
    cuts = [1] * len(shape)
    for axis, count in zip(longest, counts):
        cuts[axis] = count
    return tuple(cuts)


def _box(ranges: Sequence[Range]) -> Box:
    return tuple((begin, end - 1) for begin, end in ranges)
