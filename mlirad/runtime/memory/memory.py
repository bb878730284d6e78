"""The memory of a machine, as everything else sees it: nobody but its implementation holds a view.

A second machine implements `Memory`, `Allocation`, `Elements`, `Kept` and `Arena`, in one file
beside this one, and an executor that gives its `Memory` (`runtime/executor/executor.py`). Values
come from the host, and go there, as NumPy arrays that are copies; what is kept for later stays on
the machine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from math import prod
from typing import Any

import msgspec
import numpy as np

from mlirad.dialect.field_layout import Kind
from mlirad.runtime.boxes import Box
from mlirad.runtime.capacity import Capacity
from mlirad.runtime.memory.deferred_writes import Backlog, Copies, LaterWrites
from mlirad.runtime.memory.values import Values

DType = np.dtype[Any]
Index = tuple[int | slice, ...]


class Memory(ABC):
    """The memory that a machine allocates."""

    @abstractmethod
    def allocate(self, size: int, *, lazily: bool = False) -> Allocation:
        """Bytes for a layout tree, or for the checks of a launch: zeros. Those of a tree that
        commits `lazily` take memory as they are written, where the machine can do that."""

    @abstractmethod
    def elements(
        self,
        allocation: Allocation,
        offset: int,
        dtype: DType,
        shape: Sequence[int],
        strides: Sequence[int],
        nesting: Nesting | None = None,
    ) -> Elements:
        """Elements that lie in an allocation, from a byte on, so many bytes apart along each axis,
        perhaps in sparse blocks."""

    def array(self, dtype: DType, shape: Sequence[int]) -> tuple[Allocation, Elements]:
        """A contiguous array with an allocation to itself: zeros."""
        strides = [dtype.itemsize * prod(shape[axis + 1 :]) for axis in range(len(shape))]
        allocation = self.allocate(dtype.itemsize * prod(shape))
        return allocation, self.elements(allocation, 0, dtype, shape, strides)

    @abstractmethod
    def wrap(self, values: Values) -> Elements:
        """A contiguous array of the user's, which launches are passed and Python goes on using.

        What is written to it, by a launch or through this, the user's array holds when the launch
        or the write has returned; what Python wrote to it, a launch reads.
        """

    # Arrays of other libraries.

    @property
    @abstractmethod
    def is_apart(self) -> bool:
        """Return whether launches cannot reach Python's memory."""

    @property
    @abstractmethod
    def dlpack_device(self) -> tuple[int, int]:
        """The type and the number of the machine, as DLPack counts them."""

    @property
    @abstractmethod
    def stream(self) -> int | None:
        """Return the argument of `__dlpack__(stream=)`, so that others' work comes before ours."""

    @abstractmethod
    def elements_at(
        self, address: int, dtype: DType, shape: Sequence[int], owner: object
    ) -> Elements | None:
        """A contiguous array in the machine's memory that others allocated, and `owner` keeps; None
        where the address is not there."""

    # Copies.

    def holds(self, values: Values) -> bool:
        """Return whether an array of Python's may share some of the memory that was allocated, so
        that it changes with it; never, if Python cannot reach that memory."""
        return False

    def are_moved(self, size: int) -> bool:
        """Return whether elements of this many bytes are worth moving; never, if launches cannot
        reach Python's memory."""
        return False

    def box_to_keep(self, elements: Elements, box: Box) -> Box | None:
        """Return a box to keep in place of another one: all elements (None), if they can move to
        the copy, which takes little more memory then."""
        return box

    def room_to_move(self, dtype: DType, shape: Sequence[int]) -> Values | None:
        """Memory of Python's that elements may move to, which holds anything; None where they are
        not worth it."""
        return None

    @abstractmethod
    def arena(self, capacity: Capacity, *, apart: bool = False) -> Arena:
        """Room for many copies, which is counted in `capacity`; where they lie `apart`, that of
        each is given back with it."""

    @abstractmethod
    def capacity(self) -> Capacity:
        """A count of what a program asks for, which there is as much of as this machine has."""


class Allocation(ABC):
    """Bytes, zeros at first, for as long as this object lives."""

    address: int  # which launches take
    size: int

    def clear(self) -> None:
        """Set all bytes to 0."""
        self.discard(0, self.size)

    @abstractmethod
    def discard(self, start: int, size: int) -> None:
        """Set bytes to 0; if they are committed lazily, their memory is given back."""

    def overrun(self) -> bool:
        """Return whether memory next to the bytes was written to since the last call, as far as it
        is known."""
        return False


class Elements(ABC):
    """The elements of a field or an array: a dimension for each level of each axis, then
    components.

    A `Box` gives the first and last index along each axis, as far as it bounds it (beyond the ends
    there is nothing); None, and one that has another number of axes, as that of a field in nested
    blocks may have, stand for all elements.
    """

    __slots__ = ("__weakref__", "address", "dtype", "nbytes", "shape")

    shape: tuple[int, ...]
    dtype: DType
    nbytes: int
    address: int  # of the first element, which launches take, and which names an array
    deferred: LaterWrites | None = None  # where there may be any

    # To the host and from it.

    @abstractmethod
    def get(self, index: Index) -> Any:
        """A number of Python at an index, or nested lists of them where it leaves out the last
        axes."""

    @abstractmethod
    def put(self, index: Index, value: Any) -> None:
        """Set the elements at an index: to a number, or to values of their shape."""

    @abstractmethod
    def read(self, box: Box | None = None) -> Values:
        """A copy of the elements, on the host."""

    @abstractmethod
    def write(self, values: Values, box: Box | None = None) -> None:
        """Set elements to values of their shape, or of one that NumPy makes theirs."""

    @abstractmethod
    def fill(self, value: Any, box: Box | None = None, where: Values | None = None) -> None:
        """Set elements to one number; in a box perhaps only those `where` a mask of its shape
        is true."""

    def put_back(self, copies: Sequence[tuple[Box, Kept]], backlog: Backlog) -> None:
        """Hold again what copies of boxes hold, of several that have an element the first: now, or
        when elements are used."""
        for _, copy in reversed(copies):
            copy.restore()

    def kept_copies(self, copies: Copies) -> list[tuple[Box, Kept]]:
        """Return copies whose writes were deferred, one by one."""
        return []

    def lend(self, *, writable: bool = False) -> Values | None:
        """A view, read-only unless it is to be `writable`, that lives as long as it is used, and
        shows elements as they are at any time; None where they are not in Python's memory."""
        return None

    def move(self, values: Values | None, backlog: Backlog) -> bool:
        """Lie in memory of Python's of their shape and type, which holds what they are from now on;
        or (None) where they lay at first, and hold what they did then. Whether they move; launches
        that begin later find them there."""
        return False

    # What comes down to a number, or to a mask, is found where the elements are.

    @abstractmethod
    def any(self) -> bool:
        """Return whether one of the elements is not 0."""

    @abstractmethod
    def checksum(self) -> int:
        """A CRC-32 of the elements' bytes in the order of the axes."""

    @abstractmethod
    def equals(self, values: Values, box: Box | None = None) -> bool:
        """Return whether elements have the bits of values of their shape and type."""

    @abstractmethod
    def differing(self, values: Values, box: Box | None = None) -> Values:
        """A mask of the elements that do not have the bits of values of their shape and type."""

    # Elements of others of the same shape, which they do not overlap.

    @abstractmethod
    def take(self, other: Elements, box: Box | None = None) -> None:
        """Set elements to others, as NumPy converts them."""

    @abstractmethod
    def holds(self, other: Elements, box: Box | None = None) -> bool:
        """Return whether elements have the bits of others of the same type."""

    @abstractmethod
    def add(self, other: Elements) -> None:
        """Add others of the same type to elements."""

    # Copies that stay on the machine.

    def copy_bytes(self) -> int:
        """The bytes of a copy."""
        return self.nbytes

    @abstractmethod
    def room(self) -> Kept:
        """Room for a copy of all elements, by itself and counted nowhere: filled by `renew`."""

    def copy(self) -> Kept:
        """A copy of all elements, by itself and counted nowhere."""
        copy = self.room()
        copy.renew()
        return copy

    @abstractmethod
    def overlaps(self, other: Elements) -> bool:
        """Return whether others share some of these elements."""


def clear_later(elements: Elements, backlog: Backlog) -> None:
    """Set all elements to 0: now, or, many of them, when they are used."""
    if elements.deferred is None or not elements.deferred.clear(backlog):
        elements.fill(0)


class SparseElements(Elements):
    """Elements in sparse blocks, of which only those are gone through that may differ from 0.

    What others set, keep, put back and compare, where a box does not leave out most of it, are all
    elements that may differ from 0; what users set are the active ones.
    """

    __slots__ = ()

    @abstractmethod
    def read_active(self) -> Values:
        """A copy on the host, 0 where elements are not active. Raises TaichiMemoryError where it
        does not fit."""

    @abstractmethod
    def write_active(self, values: Values) -> None:
        """Set active elements to values, which have the shape of all."""

    @abstractmethod
    def write_all(self, values: Values) -> None:
        """Set all elements, active or not, to values, which have the shape of all."""

    @abstractmethod
    def fill_active(self, value: Any, box: Box | None = None) -> None:
        """Set active elements, perhaps those in a box, to one number."""

    @property
    @abstractmethod
    def plain(self) -> Elements:
        """The elements as those of dense blocks."""

    @abstractmethod
    def combine(self, other: Elements, *, adds: bool) -> bool:
        """Set active elements to others, or add those of the others that are active; False where
        the others do not lie in blocks of the same extents, nested alike."""

    @abstractmethod
    def copy_takes(self, size: int) -> bool:
        """Return whether a copy takes about this many bytes; known without visiting all of them."""

    @abstractmethod
    def settle(self) -> None:
        """Memory is as launches left it: what is not active by now holds what they left there."""


class SparseBlock(msgspec.Struct, frozen=True):
    """A block whose cells may be inactive. `cells` has a byte for each of them (1: active, 0: never
    touched, else: holds what was left), or for each list its length; `order` are its axes, those of
    the outermost block first."""

    kind: Kind
    cells: Elements
    order: tuple[int, ...]

    @property
    def is_list(self) -> bool:
        """Return whether cells are items of lists."""
        return self.kind is Kind.DYNAMIC

    @property
    def depth(self) -> int:
        """Return the number of axes of elements below that lead to one of its cells, or of its
        items."""
        return len(self.order) + self.is_list


class Nesting(msgspec.Struct, frozen=True):
    """The sparse blocks above elements, outermost first; `order` are the axes of the elements,
    those of the outermost block first, components last.

    `own_kind`: the elements are the activity of a block of this kind, the last of `blocks` but for
    the one that they are themselves. `is_derivative`: they are adjoints or tangents, which may
    differ from 0 where their field is not active, and have an allocation to themselves.
    """

    order: tuple[int, ...]
    blocks: tuple[SparseBlock, ...]
    own_kind: Kind | None = None
    is_derivative: bool = False


class Kept(ABC):
    """A copy of elements on their machine, which knows where it was taken."""

    __slots__ = ("__weakref__", "nbytes")

    nbytes: int

    @property
    def values(self) -> Values | None:
        """The kept elements, where they are in Python's memory, and nobody counts their ways."""
        return None

    @property
    def complete_array(self) -> Elements | None:
        """Return the array, if all of its elements are kept in Python's memory."""
        return None

    def move_array(self, backlog: Backlog, *, again: bool) -> bool:
        """Let a complete array lie where it is kept; `again` if it lies in another copy of it.
        Whether it does."""
        return False

    @property
    @abstractmethod
    def place(self) -> Hashable:
        """Return a key of the elements: equal for two copies of the same ones."""

    @abstractmethod
    def renew(self) -> None:
        """Hold the elements as they are now."""

    @abstractmethod
    def restore(self) -> None:
        """Let memory hold the kept elements."""

    @abstractmethod
    def exchange(self) -> None:
        """Swap the kept elements with those in memory."""

    @abstractmethod
    def add(self) -> None:
        """Add the kept elements to those in memory."""

    @abstractmethod
    def differs(self) -> bool:
        """Return whether memory holds other bits now."""

    @abstractmethod
    def present(self, arena: Arena, name: str) -> Kept:
        """A copy of the same elements as they are now; see `Arena.keep`."""


class Arena(ABC):
    """Room for many copies, one behind the other: given back with the last copy in it."""

    @abstractmethod
    def keep(self, elements: Elements, box: Box | None, name: str) -> Kept:
        """A copy of elements. Raises TaichiMemoryError, with a name for the array, where there is
        no room for it."""
