"""The array arguments of the launches on a tape, told apart by where they lie in memory."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Hashable

from msgspec.structs import replace

from mlirad.ad.recording.mirror import Mirror
from mlirad.lang.arguments.array_buffer import ArrayBuffer, array_buffer
from mlirad.lang.arguments.overlaps import extent, overlap, same_key
from mlirad.lang.ndarray import Ndarray
from mlirad.runtime.boxes import Box
from mlirad.runtime.memory.values import Values
from mlirad.types import DataType


class TapeArray:
    """An array that was an argument of a launch on a tape."""

    def __init__(self, buffer: ArrayBuffer, kernel: str) -> None:
        self.name, self.kernel = buffer.name, kernel
        self.buffer = buffer  # kept alive, so that its address means this array
        self.is_ours, self.shape = buffer.is_ours, buffer.dims
        # takes memory when it is written to
        self.mirror = None if self.is_ours else Mirror(buffer)
        self.is_watched = False  # whether the mirror holds something
        self.is_whole = False  # and all of it
        self.hidden: Ndarray | None = None
        self.place = ""  # where a derivative first reached it
        self.gradient: ArrayBuffer | None = None
        self.overlaps: list[TapeArray] = []
        self._of_reverse: ArrayBuffer | None = None

    def __str__(self) -> str:
        return self.name

    @property
    def full_box(self) -> Box:
        """The box of all elements."""
        return ((None, None),) * len(self.shape)

    def program_array(self) -> Values:
        """The array that was given, which is not ours."""
        return self.buffer.original()

    def describe(self) -> str:
        """Return what to call it in messages."""
        return f"array argument '{self.name}' of kernel '{self.kernel}'"

    def hide_gradient(self, place: str, dtype: DataType) -> None:
        """Give it a hidden gradient, because of a derivative that reaches it at a place."""
        self.hidden, self.place = Ndarray(dtype, self.shape, (), False), place
        self.hidden.is_gradient = True

    def of_launch(self, buffer: ArrayBuffer, needs_grad: bool) -> ArrayBuffer:
        """Return what a launch passes, with the hidden gradient if there is one and the kernel has
        a use for it."""
        if needs_grad and self.hidden is not None:
            buffer = replace(buffer, grad=array_buffer(self.hidden, self.name, False))
        if needs_grad:
            self.gradient = buffer.grad
        return buffer

    def of_reverse(self, buffer: ArrayBuffer) -> ArrayBuffer:
        """Return what its reverse passes."""
        if self.mirror is None or buffer.is_mirror:
            return buffer
        copy, last = self.mirror.copy, self._of_reverse
        if last is None or _address(last.grad) != _address(buffer.grad):
            last = self._of_reverse = ArrayBuffer(
                copy.address, copy.dims, buffer.grad, copy, name=self.name, is_mirror=True
            )
        return last


def _address(buffer: ArrayBuffer | None) -> int:
    return 0 if buffer is None else buffer.address


FlowArray = str | TapeArray | None  # a field's name, or an array argument, as flows name it


class ArrayTable:
    """The array arguments of a tape's launches, by where they lie in memory."""

    def __init__(self) -> None:
        self.by_key: dict[Hashable, TapeArray] = {}
        # of arrays that are not ours, in the order of memory
        self._extents: list[tuple[int, int, int, TapeArray]] = []
        self._longest = 0

    def __bool__(self) -> bool:
        return bool(self.by_key)

    def all(self) -> list[TapeArray]:
        """Return each array once."""
        return list(dict.fromkeys(self.by_key.values()))

    def of(self, array: Ndarray) -> TapeArray | None:
        """Return the entry of an ndarray, if it has one."""
        return self.by_key.get(array.address)

    def find(self, buffer: ArrayBuffer) -> TapeArray | None:
        """Return the entry of an array, if it has one."""
        return self.by_key.get(_key(buffer))

    def know(self, buffer: ArrayBuffer, kernel: str) -> TapeArray:
        """Return the entry of an array argument."""
        key = _key(buffer)
        array = self.by_key.get(key)
        if array is None:
            array = self.by_key[key] = TapeArray(buffer, kernel)
            if array.mirror is not None:
                self.by_key[array.mirror.copy.address] = array
                self._find_overlaps(array, *extent(buffer))
        return array

    def _find_overlaps(self, new: TapeArray, start: int, end: int) -> None:
        for first, last, _, old in self._extents[
            bisect_left(self._extents, (start - self._longest,)) :
        ]:
            if first >= end:
                break
            if last > start and overlap(old.buffer, new.buffer):
                old.overlaps.append(new)
                new.overlaps.append(old)
        insort(self._extents, (start, end, len(self._extents), new))
        self._longest = max(self._longest, end - start)


def _key(buffer: ArrayBuffer) -> Hashable:
    """Return what distinguishes an array from others on a tape."""
    return buffer.address if isinstance(buffer.owner, Ndarray) else same_key(buffer)
