"""Arrays of NumPy and torch as kernels of `ti.python` take them: the memory that the caller has."""

from __future__ import annotations

from typing import Any

from mlirad.errors import TaichiRuntimeTypeError
from mlirad.frontend.python.values.matrix import Matrix
from mlirad.lang.matrix import ElementMatrix
from mlirad.runtime.memory.memory import Index
from mlirad.runtime.memory.values import Values


class ArrayOfMatrices:
    """An array whose last axes are those of vectors or matrices: its elements."""

    def __init__(self, values: Values, element_shape: tuple[int, ...]) -> None:
        self.values, self.element_shape = values, element_shape
        self.shape = values.shape[: values.ndim - len(element_shape)]

    def __getitem__(self, key: Index) -> ElementMatrix:
        place = self.values[key]

        def write(position: tuple[int, ...], value: object) -> None:
            place[position] = value

        return ElementMatrix(self.element_shape, list(place.ravel()), write)

    def __setitem__(self, key: Index, value: Matrix | Values) -> None:
        self.values[key] = value.rows_list() if isinstance(value, Matrix) else value


def shared_memory(value: object) -> Any:
    """Return a tensor of torch as an array of its memory, anything else as it is. Raises
    TaichiRuntimeTypeError for a tensor that is not in Python's memory."""
    if not hasattr(value, "data_ptr"):
        return value
    tensor: Any = value
    if tensor.device.type != "cpu":
        raise TaichiRuntimeTypeError(
            f"arch=ti.python: expected a tensor on the CPU, got one on {tensor.device}"
        )
    return tensor.detach().numpy()
