"""`qd.BufferView`: some elements of an ndarray, next to one another, as an argument of kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlirad.frontend.python.building.builder import being_built, in_kernel
from mlirad.frontend.python.places.arrays import array_ref
from mlirad.frontend.python.places.views import KernelView, kernel_view
from mlirad.frontend.python.values.annotations import BufferViewType, MatrixType
from mlirad.lang.arguments.foreign_array import is_array
from mlirad.lang.host.array_protocols import AsArray
from mlirad.types import TypeLike


class BufferView:
    """The elements of an array of one axis from `offset` on, `size` of them. It keeps the array.

    `BufferView[dtype]` and `BufferView` declare parameters. Launches pass the whole array, so that
    views of one array, and the array itself, are one memory to derivatives. Raises TypeError for
    what is no array of one axis, ValueError for a range that is not within it.
    """

    __slots__ = ("_array", "_offset", "_size")
    __parameter_type__ = BufferViewType()

    def __new__(cls, arr: object, offset: int, size: int) -> Any:
        if being_built and in_kernel():
            return kernel_view(arr, offset, size)
        return super().__new__(cls)

    def __init__(self, arr: Any, offset: int, size: int) -> None:
        offset, size = int(offset), int(size)
        if isinstance(arr, BufferView):
            raise TypeError(
                "cannot make a BufferView of a BufferView: use view.subview(offset, size)"
            )
        if not (getattr(type(arr), "is_passed", False) or is_array(arr)):
            raise TypeError(f"BufferView requires an ndarray, got a {type(arr).__name__}")
        shape = tuple(arr.shape)
        if len(shape) != 1:
            raise TypeError(f"BufferView requires a 1D ndarray, got shape {shape}")
        if offset < 0 or size < 0 or offset + size > shape[0]:
            raise ValueError(
                f"BufferView out of range: offset={offset}, size={size}, ndarray length={shape[0]}"
            )
        self._array, self._offset, self._size = arr, offset, size

    def __class_getitem__(
        cls, parameters: TypeLike | MatrixType | tuple[Any, ...]
    ) -> BufferViewType:
        return BufferViewType(*(parameters if isinstance(parameters, tuple) else (parameters,)))

    @property
    def arr(self) -> Any:
        """The array."""
        return self._array

    def get_ndarray(self) -> Any:
        """The array."""
        return self._array

    @property
    def offset(self) -> int:
        """The index of the first element in the array."""
        return self._offset

    @property
    def size(self) -> int:
        """Return the number of elements."""
        return self._size

    @property
    def shape(self) -> tuple[int]:
        """The extent of its axis."""
        return (self._size,)

    def subview(self, offset: int, size: int) -> BufferView:
        """The view of some of the elements. Raises ValueError for a range that is not within."""
        offset, size = int(offset), int(size)
        if offset < 0 or size < 0 or offset + size > self._size:
            raise ValueError(
                f"subview out of range: offset={offset}, size={size}, parent size={self._size}"
            )
        view: BufferView = BufferView(self._array, self._offset + offset, size)
        return view

    def __getitem__(self, key: object) -> BufferView:
        if not isinstance(key, slice):
            raise TypeError(
                "in Python a BufferView can only be sliced, got an index of type "
                f"{type(key).__name__}: read its elements from view.get_ndarray()"
            )
        return self.subview(*_range(range(self._size)[key]))

    def __len__(self) -> int:
        return self._size

    def __kernel_ref__(self) -> KernelView:
        """The view in the kernel that is being compiled."""
        return kernel_view(array_ref(self._array), self._offset, self._size)

    def __repr__(self) -> str:
        return f"<BufferView of {self._array!r}, offset={self._offset}, size={self._size}>"


def section_view(array: AsArray, positions: Sequence[range]) -> BufferView:
    """Return the view that a subscript of an ndarray names. Raises TypeError for an ndarray of
    several axes, ValueError for a step."""
    if len(positions) != 1:
        raise TypeError(f"a slice of an ndarray requires a 1D array, got shape {array.shape}")
    view: BufferView = BufferView(array, *_range(positions[0]))
    return view


def _range(positions: range) -> tuple[int, int]:
    if positions.step != 1:
        raise ValueError(f"a slice of a BufferView requires step=1, got step={positions.step}")
    return positions.start, len(positions)
