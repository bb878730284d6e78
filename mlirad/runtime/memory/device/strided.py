"""Elements in memory that is not looked at: where each of them is."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import gcd, prod
from operator import index as as_index

import msgspec

from mlirad.runtime.boxes import Box
from mlirad.runtime.memory.memory import Index

WIDEST = 8  # bytes that a kernel moves at once


class Strided:
    """Elements of a size, from an address on, so many bytes apart along each axis (0 or more).

    `is_packed`: they lie side by side in the order of the axes.
    """

    __slots__ = ("address", "is_packed", "itemsize", "nbytes", "shape", "strides")

    def __init__(
        self, address: int, shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int
    ) -> None:
        self.address, self.shape, self.strides, self.itemsize = address, shape, strides, itemsize
        nbytes, is_packed = itemsize, True
        for axis in range(len(shape) - 1, -1, -1):
            if strides[axis] != nbytes and shape[axis] != 1:
                is_packed = False
            nbytes *= shape[axis]
        self.nbytes, self.is_packed = nbytes, is_packed

    @property
    def key(self) -> Hashable:
        """Return the key of the elements."""
        return self.address, self.shape, self.strides

    @property
    def span(self) -> int:
        """The bytes from the first element to behind the last one."""
        if self.is_packed or not self.nbytes:
            return self.nbytes
        ends = ((size - 1) * stride for size, stride in zip(self.shape, self.strides))
        return sum(ends) + self.itemsize

    def at(self, index: Index) -> Strided:
        """The elements at an index. Raises IndexError if there are none."""
        address, shape, strides = self.address, list[int](), list[int]()
        if len(index) > len(self.shape):
            raise IndexError(f"expected {len(self.shape)} indices, got {len(index)}")
        for entry, size, stride in zip(index, self.shape, self.strides):
            if isinstance(entry, slice):
                start, stop, step = entry.indices(size)
                address += start * stride
                shape.append(len(range(start, stop, step)))
                strides.append(step * stride)
                continue
            place = as_index(entry)
            if not -size <= place < size:
                raise IndexError(f"index {place} is out of range for an axis of {size} elements")
            address += (place % size) * stride
        axis = len(index)
        return Strided(
            address, (*shape, *self.shape[axis:]), (*strides, *self.strides[axis:]), self.itemsize
        )

    def part(self, box: Box | None) -> Strided:
        """The elements of a box; of one with another number of axes, all."""
        if box is None or len(box) != len(self.shape) or not box:
            return self
        return self.at(
            tuple(
                slice(max(low or 0, 0), None if high is None else max(high + 1, 0))
                for low, high in box
            )
        )

    def at_address(self, address: int) -> Strided:
        """Return an array of the same shape and strides at another address."""
        return Strided(address, self.shape, self.strides, self.itemsize)

    def transpose(self, order: Sequence[int]) -> Strided:
        """Return the same elements with their axes in another order."""
        shape, strides = (tuple(of[axis] for axis in order) for of in (self.shape, self.strides))
        return Strided(self.address, shape, strides, self.itemsize)

    def pack(self, address: int) -> Strided:
        """Return a dense array of the same size at an address, whose axes are in the order of the
        strides here: elements that are close together here are close together there."""
        if self.is_packed:
            return Strided(address, self.shape, self.strides, self.itemsize)
        strides, step = [0] * len(self.shape), self.itemsize
        for axis in sorted(range(len(self.shape)), key=lambda axis: (self.strides[axis], -axis)):
            strides[axis] = step
            step *= self.shape[axis]
        return Strided(address, self.shape, tuple(strides), self.itemsize)


def contiguous(address: int, shape: Sequence[int], itemsize: int) -> Strided:
    """Elements side by side in the order of the axes."""
    strides = tuple(itemsize * prod(shape[axis + 1 :]) for axis in range(len(shape)))
    return Strided(address, tuple(shape), strides, itemsize)


class Loops(msgspec.Struct, frozen=True):
    """Loops over arrays of one shape together: over words of a width, with the number of bytes by
    which each array advances per iteration."""

    width: int
    extents: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]  # of each array

    @property
    def is_flat(self) -> bool:
        """Return whether the words of every array lie side by side."""
        return not self.extents or (
            len(self.extents) == 1 and all(steps == (self.width,) for steps in self.strides)
        )

    def runs(self) -> tuple[int, Loops]:
        """The bytes that lie side by side in every array, and the loops over such runs."""
        if self.extents and all(steps[-1] == self.width for steps in self.strides):
            outer = tuple(steps[:-1] for steps in self.strides)
            return self.extents[-1] * self.width, Loops(self.width, self.extents[:-1], outer)
        return self.width, self


def loops(arrays: Sequence[Strided], *, by_element: bool = False) -> Loops:
    """The fewest loops, the innermost one over neighbors of the first array, over the widest
    words; or over elements."""
    first = arrays[0]
    if all(array.is_packed for array in arrays) and not by_element:
        width = gcd(WIDEST, first.nbytes, *(array.address for array in arrays))
        return Loops(width, (first.nbytes // width,), ((width,),) * len(arrays))
    axes = [axis for axis, size in enumerate(first.shape) if size != 1]
    axes.sort(key=lambda axis: -first.strides[axis])
    extents, strides = list[int](), list[list[int]]()
    for axis in axes:
        size, steps = first.shape[axis], [array.strides[axis] for array in arrays]
        if extents and all(last == size * step for last, step in zip(strides[-1], steps)):
            extents[-1], strides[-1] = extents[-1] * size, steps
        else:
            extents.append(size)
            strides.append(steps)
    width = first.itemsize
    if not by_element:
        width = _widen(arrays, extents, strides)
    return Loops(width, tuple(extents), tuple(zip(*strides)) or ((),) * len(arrays))


def _widen(arrays: Sequence[Strided], extents: list[int], strides: list[list[int]]) -> int:
    """Make words of the innermost loop as wide as can be; how wide they are."""
    size = arrays[0].itemsize
    is_run = bool(strides) and all(step == size for step in strides[-1])
    run = extents[-1] * size if is_run else size
    outer = strides[:-1] if is_run else strides
    width = gcd(WIDEST, run, *(step for steps in outer for step in steps))
    width = gcd(width, *(array.address for array in arrays))
    if is_run:
        extents[-1], strides[-1] = run // width, [width] * len(arrays)
    elif width < size:
        extents.append(size // width)
        strides.append([width] * len(arrays))
    return width
