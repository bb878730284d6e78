"""Elements in sparse blocks that may differ from 0: found from the activity of the blocks, from the
outermost one inwards, down to pieces of about a page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import gcd, prod

import msgspec
import numpy as np

from mlirad.runtime.memory.values import Values

PAGE = 4096  # bytes, of which all take memory where one does
WHOLE = 1 << 14  # bytes that are not worth looking which of them differ from 0

Places = tuple[Values, ...]  # digits of each piece, in the order of the axes
Rows = Callable[[Places], Values]  # of an array, at places of its first axes; without, all as one


class Around(msgspec.Struct, frozen=True):
    """A block around elements: how many of their first axes lead to its cells, or its items."""

    depth: int
    is_list: bool


class Pieces:
    """The division of elements, their axes outermost first, into pieces: those of the first `depth`
    axes, after one of them is split in two."""

    def __init__(self, shape: Sequence[int], itemsize: int, blocks: Sequence[Around]) -> None:
        self.blocks, self.depth, self.group = _choose(shape, itemsize, blocks)
        self.axis = self.depth - 1
        self.shape = self._split_shape(shape)
        self.outer, self.inner = self.shape[: self.depth], self.shape[self.depth :]
        self.nbytes = itemsize * prod(self.inner)

    def _split_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        if not self.depth:
            return tuple(shape)
        axis, group = self.axis, self.group
        return (*shape[:axis], shape[axis] // group, group, *shape[axis + 1 :])

    def split(self, values: Values) -> Values:
        """A view of values of some of the first axes, in pieces."""
        if not self.depth or values.ndim <= self.axis:
            return values
        return np.lib.stride_tricks.as_strided(
            values, *self.split_axes(values.shape, values.strides)
        )

    def split_axes(
        self, shape: Sequence[int], strides: Sequence[int]
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Extents and strides of some of the first axes, in pieces."""
        if not self.depth or len(shape) <= self.axis:
            return tuple(shape), tuple(strides)
        axis, group = self.axis, self.group
        step = strides[axis]
        extents = (shape[axis] // group, group)
        return (
            (*shape[:axis], *extents, *shape[axis + 1 :]),
            (*strides[:axis], step * group, step, *strides[axis + 1 :]),
        )

    def find(self, rows: Sequence[Rows]) -> Places:
        """The pieces that may hold anything but 0, by what is seen of each of `blocks`."""
        return [(), *self.steps(rows)][-1]

    def steps(self, activities: Sequence[Rows]) -> Iterator[Places]:
        """On the way to these pieces: the cells of each of `blocks`, the outermost one first."""
        places: Places = ()
        for number, (block, rows) in enumerate(zip(self.blocks, activities), 1):
            expand = _items if block.is_list else _cells
            places = expand(rows(places), places, self.group if number == len(self.blocks) else 1)
            yield places

    def numbers(self, axis: int, places: Places) -> Values:
        """The index along one of the axes, before one is split, of each element of pieces."""
        if axis == self.axis:
            outer = self._outer(places[axis])
            return outer * self.group + self._inner(self.depth, self.group)
        if axis < self.axis:
            return self._outer(places[axis])
        position = axis + bool(self.depth)
        return self._inner(position, self.shape[position])

    def _outer(self, digits: Values) -> Values:
        return digits.reshape(-1, *(1,) * len(self.inner))

    def _inner(self, position: int, extent: int) -> Values:
        shape = [1] * (1 + len(self.inner))
        shape[1 + position - self.depth] = extent
        return np.arange(extent).reshape(shape)

    def keys(self, places: Places) -> Values:
        """A number for each piece, in ascending order."""
        if not self.depth:
            return np.zeros(1, np.int64)
        return np.ravel_multi_index(places, self.outer)

    def of_values(self, values: Values) -> Places:
        """The pieces of values of all elements that hold anything but 0."""
        if not self.depth:
            return ()
        pieces = self.split(values)
        is_other: Values = np.any(pieces != 0, axis=tuple(range(self.depth, pieces.ndim)))
        return is_other.nonzero()

    def at(self, keys: Values) -> Places:
        """The pieces with some numbers."""
        return np.unravel_index(keys, self.outer) if self.depth else ()


def _choose(
    shape: Sequence[int], itemsize: int, blocks: Sequence[Around]
) -> tuple[tuple[Around, ...], int, int]:
    """The blocks whose activity is worth looking at, how many axes lead to their cells, and how
    many of the innermost ones make a piece."""
    if itemsize * prod(shape) <= WHOLE:
        return (), 0, 1
    chosen, depth = list[Around](), 0
    for block in blocks:
        if chosen and itemsize * prod(shape[depth:]) <= PAGE:
            break
        chosen.append(block)
        depth = block.depth
    extent, size = shape[depth - 1], itemsize * prod(shape[depth:])
    most = max(1, min(extent, PAGE // size))
    group = max(n for n in range(1, most + 1) if extent % n == 0)
    return tuple(chosen), depth, group


def _cells(flags: Values, places: Places, group: int) -> Places:
    """The cells of a block, in groups, below some of the cells around it, by their flags."""
    cells = _any(flags, group).nonzero()
    return (*(digits[cells[0]] for digits in places), *cells[1:])


def _any(flags: Values, group: int) -> Values:
    """Return whether there is one in a group along the last axis."""
    if group > 1 and flags.itemsize == 1 and flags.flags.c_contiguous:  # some at once
        word = gcd(group, 8)
        flags, group = flags.view(f"u{word}"), group // word
    if group == 1:
        return flags != 0
    shape = (*flags.shape[:-1], flags.shape[-1] // group, group)
    return (flags.reshape(shape) != 0).any(-1)


def _items(lengths: Values, places: Places, group: int) -> Places:
    """The items of lists, in groups, below some of the cells around them."""
    counts = -(-lengths // group)
    lists = counts.nonzero()
    list_counts = counts[lists]
    rows = np.repeat(np.arange(list_counts.size), list_counts)
    starts = np.cumsum(list_counts) - list_counts
    items = np.arange(rows.size) - starts[rows]
    outer = (*(digits[lists[0]] for digits in places), *lists[1:])
    return (*(digits[rows] for digits in outer), items)
