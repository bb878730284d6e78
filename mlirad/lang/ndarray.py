"""Arrays with a life of their own, passed to kernels as arguments: `ti.ndarray`."""
from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.errors import TaichiIndexError, TaichiRuntimeError
from mlirad.frontend.annotations import MatrixType
from mlirad.frontend.matrix import Matrix
from mlirad.lang.matrix import ElementMatrix
from mlirad.runtime.program import program
from mlirad.types import DataType, resolve

MAX_EXTENT = 1 << 31


class Ndarray:
    """A contiguous array of scalars, vectors or matrices."""

    def __init__(self, dtype: DataType, shape: tuple[int, ...], element_shape: tuple[int, ...],
                 needs_grad: bool) -> None:
        self.dtype, self.shape, self.element_shape = dtype, shape, element_shape
        self.values = np.zeros(shape + element_shape, dtype.numpy)
        self.address = self.values.ctypes.data
        self.dims = self.values.shape
        self.grad: Ndarray | None = Ndarray(dtype, shape, element_shape, False) if needs_grad else None
        self.is_gradient = False
        if self.grad is not None:
            self.grad.is_gradient = True
        self.tangents: list[Ndarray] = []
        self.program = program()
        self.program.arrays.add(self)

    def tangent(self, number: int) -> Ndarray:
        """The tangents in one direction; zeros at first."""
        while len(self.tangents) <= number:
            self.tangents.append(Ndarray(self.dtype, self.shape, self.element_shape, False))
            self.tangents[-1].is_gradient = True
        return self.tangents[number]

    @property
    def dual(self) -> Ndarray | None:
        """The tangents in the first direction; None for arrays without a gradient."""
        return self.tangent(0) if self.grad is not None or self.is_gradient else None

    @property
    def n(self) -> int:
        """Rows of an element."""
        return self.element_shape[0]

    @property
    def m(self) -> int:
        """Columns of an element."""
        return self.element_shape[1] if len(self.element_shape) > 1 else 1

    @property
    def element_type(self) -> DataType:
        """The scalar type."""
        return self.dtype

    def clear_gradient(self) -> None:
        """Set the gradient to 0, where there is one."""
        if self.grad is not None:
            self.grad.values.fill(0)

    def clear_tangents(self) -> None:
        """Set the tangents in all directions to 0."""
        for one in self.tangents:
            one.values.fill(0)

    def _index(self, key: Any) -> tuple[int, ...]:
        parts = () if key is None else tuple(key) if isinstance(key, tuple | list | Matrix) else (key,)
        if len(parts) != len(self.shape):
            raise TaichiIndexError(f"{len(self.shape)}d ndarray indexed with {len(parts)}d indices: {key}")
        if any(not -e <= p < e for p, e in zip(parts, self.shape)):
            raise TaichiIndexError(f"index {key} is out of bounds for an ndarray of shape {self.shape}")
        return tuple(int(p) % e for p, e in zip(parts, self.shape))

    def _note_write(self, index: tuple[int, ...] | None = None) -> None:
        if self.is_gradient:
            return
        self.program.changes += 1
        self.program.written[self.address] = self.program.changes
        if self.program.recorder is not None:
            self.program.recorder.host_write(self, index)

    def _note_read(self) -> None:
        if self.program.recorder is not None and not self.is_gradient:
            self.program.recorder.host_read(self)

    def __getitem__(self, key: Any) -> Any:
        index = self._index(key)
        self._note_read()
        if self.element_shape:
            return ElementMatrix(self.values, index, self.element_shape, self._note_write)
        return self.values[index].item()

    def __setitem__(self, key: Any, value: Any) -> None:
        index = self._index(key)
        self._note_write(index)
        self.values[index] = np.asarray(value.rows_list() if isinstance(value, Matrix) else value)

    def fill(self, value: Any) -> None:
        """Set every element."""
        self._note_write()
        self.values[...] = np.asarray(value.rows_list() if isinstance(value, Matrix) else value)

    def to_numpy(self) -> np.ndarray[Any, Any]:
        """A copy, of shape `shape + element_shape`."""
        self._note_read()
        return self.values.copy()

    def from_numpy(self, values: Any) -> None:
        """Set all elements. Raises ValueError for another shape."""
        array = np.asarray(values)
        if array.shape != self.values.shape:
            raise ValueError(f"from_numpy: the ndarray has shape {self.values.shape}, the array has {array.shape}")
        self._note_write()
        self.values[...] = array

    def copy_from(self, other: Ndarray) -> None:
        """Set all elements from an ndarray of the same shape."""
        other._note_read()
        self.from_numpy(other.values)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<ti.ndarray {self.dtype}{list(self.shape)}>"


def ndarray(dtype: Any, shape: Any, needs_grad: bool = False, **ignored: Any) -> Ndarray:
    """An array of zeros. `dtype` is a scalar or matrix type. Raises TaichiRuntimeError where an integer needs_grad."""
    if isinstance(dtype, MatrixType):
        return make(dtype.shape, dtype.dtype, shape, needs_grad)
    return make((), dtype, shape, needs_grad)


def make(element_shape: tuple[int, ...], dtype: Any, shape: Any, needs_grad: bool = False, **ignored: Any) -> Ndarray:
    """An ndarray of matrices."""
    config = program().config
    kind = resolve(dtype if dtype is not None else float, config.default_fp, config.default_ip)
    if needs_grad and not kind.is_float:
        raise TaichiRuntimeError(f"{kind} is not supported for ndarray with `needs_grad=True`.")
    sizes = (shape,) if isinstance(shape, int | float | np.number) else tuple(shape)
    if any(int(size) != size or not 0 < size < MAX_EXTENT for size in sizes):
        raise TaichiRuntimeError(f"{shape} is not a valid shape for ndarray: extents are positive integers below 2**31")
    return Ndarray(kind, tuple(int(size) for size in sizes), element_shape, needs_grad)
