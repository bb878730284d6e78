"""Fields and ndarrays as other libraries' arrays: `np.asarray(x)`, `torch.from_dlpack(x)`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from mlirad.errors import TaichiRuntimeError
from mlirad.frontend.python.building.builder import in_kernel
from mlirad.lang.callers import caller
from mlirad.lang.host.host_slices import SlicedArray
from mlirad.lang.host.notebook_html import array_html
from mlirad.lang.host.python_misuse import Memory
from mlirad.runtime.html import heading
from mlirad.runtime.memory.values import Values

_SAYS_READ_ONLY = (1, 0)  # the first version of DLPack in which an array can be read-only


class AsArray(Memory, SlicedArray):
    """Elements that NumPy and what speaks DLPack see, as views where they can.

    A view shows what launches leave there later, keeps the memory alive, and is read-only: a tape
    would not see what is written through it.
    """

    _lent: Values
    layout: tuple[int, ...] | None = None  # the axes, outermost first; None if they are in order

    @property
    def title(self) -> str:
        """The name and the type, for messages."""
        name = self.description.removeprefix("an ")
        return f"ti.{name} {self.dtype}{list(self.element_shape) or ''}"

    def __repr__(self) -> str:
        """Show the shape and some elements, without a read that a tape would note."""
        if in_kernel():
            return f"<{self.title}>"
        try:
            shape, elements = self.shape, self._ordered_elements()
        except TaichiRuntimeError:  # it has no place yet, or its program has ended
            return f"<{self.title}>"
        from mlirad.lang.host.array_text import array_text

        return array_text(self.title, shape, self.element_shape, elements)

    def __dir__(self) -> list[str]:
        from mlirad.lang.host.public_names import ARRAY_NAMES, shown_names

        names = shown_names(super().__dir__(), ARRAY_NAMES)
        return names if self.element_shape else [name for name in names if name not in ("m", "n")]

    def _repr_html_(self) -> str:
        """Return the HTML of a notebook: some elements, and a picture if the array may be an
        image."""
        try:
            shape, elements = self.shape, self._ordered_elements()
        except TaichiRuntimeError as error:  # it has no place yet, or its program has ended
            return heading(f"<{self.title}>: {error}")
        return array_html(f"<{self.title}>", shape, self.element_shape, elements)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Values:
        """Return an array for NumPy. Raises ValueError if a copy is needed, as of elements in
        blocks, of sparse fields or on a GPU, and none is allowed."""
        view = None if copy else self._watched_view()
        if view is None and copy is False:
            raise ValueError(
                f"{self.description} is not one array in host memory: it can only be copied"
            )
        array = self.to_numpy() if view is None else view
        if dtype is None or array.dtype == dtype:
            return array
        if copy is False:
            raise ValueError(
                f"{self.description} does not have elements of type {dtype}, so it can only be "
                "copied"
            )
        return array.astype(dtype)

    @property
    def __array_struct__(self) -> Any:
        """The view for NumPy, which asks for this first, and keeps it as long as its array lives.
        Raises AttributeError if the elements are no array in Python's memory."""
        view = self._watched_view()
        if view is None:
            raise AttributeError(f"{self.description} is not one array in host memory")
        return view.__array_struct__

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """Return the description of the elements for NumPy, read-only. Raises AttributeError if
        they are no array in Python's memory: then there is `__array__`."""
        view = self._view()
        if view is None:
            raise AttributeError(f"{self.description} is not one array in host memory")
        self._lent = view  # who reads the address keeps this object, and it the memory
        return view.__array_interface__

    def __dlpack_device__(self) -> tuple[int, int]:
        """The processor's memory: from a GPU elements are copied."""
        return 1, 0

    def __dlpack__(
        self,
        *,
        stream: object = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A capsule: of a view for those who know read-only arrays, else of a copy. Raises
        BufferError for a stream or another device, or where a copy is needed and none is
        allowed."""
        if stream not in (None, -1) or dl_device not in (None, self.__dlpack_device__()):
            raise BufferError(f"{self.description} is only available in host memory")
        if max_version is None or max_version < _SAYS_READ_ONLY:
            if copy is False:
                raise BufferError(
                    f"{self.description} is read-only, which this version of DLPack cannot say"
                )
            return self.to_numpy().__dlpack__()
        view = None if copy else self._watched_view()
        if view is None and copy is False:
            raise BufferError(f"{self.description} is not one array in host memory")
        array = self.to_numpy() if view is None else view
        try:
            return array.__dlpack__(max_version=max_version)
        except TypeError:  # NumPy before 2.1
            return array.copy().__dlpack__()

    def to_dlpack(self, versioned: bool = False) -> Any:
        """Return a DLPack capsule of the elements without a copy; other libraries may write to
        them. While the capsule exists, a tape refuses launches that use the elements. Raises
        BufferError if the elements are not one array in host memory."""
        try:
            array = self.shared_array(False)
        except ValueError as error:
            raise BufferError(str(error)) from None
        return array.__dlpack__(max_version=(1, 0)) if versioned else array.__dlpack__()

    def shared_array(self, copy: bool | None) -> Any:
        """Return a writable view. While it exists, a tape refuses launches that use the elements;
        see `LibraryCopies`."""
        elements = None if copy else self._ordered_elements()
        shared = None if elements is None else elements.lend(writable=True)
        if shared is None:
            return super().shared_array(copy)
        self.note_read()
        self.note_write()
        shared = _rooted(shared)
        self.program.threads.views.add_writable(self.key, shared, caller())
        return shared

    def _view(self) -> Values | None:
        """The elements where they are; None if a copy is needed."""
        elements = self._ordered_elements()
        if elements is None:
            return None
        self.note_read()
        return elements.lend()

    def _watched_view(self) -> Values | None:
        """Return the view, of which tapes are told as long as it exists."""
        view = self._view()
        return None if view is None else self._watch(view)

    def _watch(self, view: Values) -> Values:
        if self.dtype.is_float and not self.is_derivative:
            view = _rooted(view)
            self.program.threads.views.add(self.key, view, caller())
        return view


def short_text(value: object) -> str:
    """Return what messages show of a value: of an array, no elements."""
    return f"<{value.title}>" if isinstance(value, AsArray) else repr(value)


class _Root:
    """The memory of an array, as NumPy takes it from objects of other libraries."""

    def __init__(self, values: Values) -> None:
        self._values, self.__array_interface__ = values, values.__array_interface__


def _rooted(values: Values) -> Values:
    """Return an array that exists as long as parts of it do. Parts of a view of an array keep that
    array, and not the view."""
    return np.asarray(_Root(values))
