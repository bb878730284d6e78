"""Fields in Python: elements that it reads and writes, copies, and what a field is not."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NoReturn, Self, cast

import numpy as np
from numpy.typing import DTypeLike

from mlirad.errors import TaichiRuntimeError
from mlirad.frontend.python.building.builder import in_kernel
from mlirad.frontend.python.places.arrays import ArrayRef
from mlirad.frontend.python.values.matrix import Matrix
from mlirad.lang.field.indices import element_index
from mlirad.lang.field.memory import present_memory
from mlirad.lang.host.array_protocols import AsArray
from mlirad.lang.host.element_arrays import converted
from mlirad.lang.host.host_values import array_of, check_element, fitting
from mlirad.lang.host.python_misuse import refuse_iteration
from mlirad.lang.layout.tree import Leaf
from mlirad.runtime.memory.field import FieldMemory
from mlirad.runtime.memory.memory import Elements, Index
from mlirad.runtime.memory.values import Values
from mlirad.runtime.program import is_current


class FieldAccess(AsArray, Leaf):
    """A field's elements, as Python reads and writes them."""

    @property
    def key(self) -> str:
        return self.symbol

    @property
    def description(self) -> str:
        return f"field '{self.symbol}'"

    @property
    def is_derivative(self) -> bool:
        """Return whether it was derived from another field."""
        return self.primal is not None

    @property
    def is_followed(self) -> bool:
        """Return whether it is a field, or its gradient, which programs may use as one."""
        return self.primal is None or (self.is_gradient and self.primal.primal is None)

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells along each index axis."""
        node = self.placed_in
        if node is None and self.primal is not None:
            node = self.primal.placed_in
        if node is None:
            raise TaichiRuntimeError(
                f"field '{self.symbol}' is not placed: declare it with shape=..., or place it in a "
                "layout tree"
            )
        return node.shape

    @property
    @abstractmethod
    def grad(self) -> Self | None:
        """The field of adjoints; None for integer fields and for gradients themselves."""

    @abstractmethod
    def __kernel_ref__(self) -> ArrayRef:
        """The array of this field, got once a kernel."""

    def find_memory(self) -> FieldMemory:
        """The field's memory. Raises TaichiRuntimeError if it was never placed or is gone."""
        memory, owner = self.memory, self.program
        if memory is not None and not owner.trees.pending and is_current(owner):
            return memory
        owner.trees.materialize()
        return present_memory(self)

    def note_write(self, index: Index | None = None) -> None:
        """Count a write and notify the recorder; an element that is written to becomes active."""
        super().note_write(index)
        if self.is_gradient and self.program.threads.recorder is None:  # else it notes that itself
            self.program.derivatives.given.add(self.symbol)
        if index is not None:
            self.activate(index)

    def activate(self, index: Index) -> None:
        """Make the cells active that an element in memory lies in; a slice, which is of all
        elements, changes nothing."""
        if not any(isinstance(entry, slice) for entry in index):
            self.find_memory().activate(cast("tuple[int, ...]", index))

    def _locate(self, key: object) -> tuple[Elements, tuple[int, ...]]:
        memory = self.find_memory()
        return memory.elements, element_index(self, key, memory)

    @property
    def _start(self) -> tuple[int, ...]:
        return self.offset

    def _ordered_elements(self) -> Elements | None:
        memory = self.find_memory()
        is_flat = memory.elements.shape == memory.layout.shape and not memory.layout.activities
        return memory.elements if is_flat else None

    def _set_element(self, key: object, value: object) -> None:
        elements, index = self._locate(key)
        self.note_write(index)
        if not self.element_shape:
            elements.put(index, self._fit_number(value))
            return
        values = array_of(value, self.description)
        check_element(values, self.element_shape)
        elements.put(index, self.fit(values))

    def fill(self, value: Any) -> None:
        """Set every element, or every component of every element."""
        if in_kernel():
            self.__kernel_ref__().fill(value)
            return
        memory = self.find_memory()
        if self.element_shape and isinstance(value, Matrix | list | tuple | np.ndarray):
            values = self.fit(array_of(value, self.description))
            self.note_write()
            memory.fill_each(values)
        else:
            number = self._fit_number(value)
            is_cleared = self.primal is not None and number == 0
            self.note_write(() if is_cleared and memory.nesting is not None else None)
            if is_cleared:
                memory.clear(self.program.backlog)
                self.program.derivatives.given.discard(self.symbol)
            else:
                memory.fill(number)

    def fit(self, values: Values) -> Values:
        """Convert values to the element type, and note infinities among them."""
        self.note_values(values)
        return super().fit(values)

    def _fit_number(self, value: object) -> Any:
        if not isinstance(value, (int, float)):
            values = array_of(value, self.description)
            check_element(values, ())
            value = values[()]
        if not self.dtype.is_float:
            return fitting(value, self.dtype, self.description)
        if value and self.primal is None:
            self.note_values(value)
        return value

    def note_values(self, values: object) -> None:
        """Note infinities among what Python writes."""
        if self.primal is None and self.dtype.is_float:
            self.program.poles.note_values(self.symbol, values, self.dtype)

    def to_numpy(
        self,
        keep_dims: bool = False,
        dtype: DTypeLike | None = None,
        *,
        copy: bool | None = True,
    ) -> Values:
        """A copy, of shape `shape + element_shape`; `keep_dims` makes vectors matrices of one
        column. With `copy=False` it is an array of the same memory, of which tapes take no
        launch as long as it exists; raises ValueError if there is none."""
        values = self.shared_array(copy)
        if values is None:
            values = self.find_memory().read()
        self.note_read()
        if keep_dims and len(self.element_shape) == 1:
            values = values[..., np.newaxis]
        return converted(values, dtype, copy)

    def from_numpy(self, values: object) -> None:
        """Set all elements. Raises ValueError if the shape is not `shape + element_shape`."""
        memory = self.find_memory()
        array = self.fit(elements_of(values, self.shape, self.element_shape, self.description))
        self.note_write()
        memory.write(array)

    def copy_from(self, other: object) -> None:
        """Set all elements from a field or an ndarray of the same shape; a tape differentiates
        that.

        Raises ValueError for another shape, TypeError for what is neither.
        """
        if not isinstance(other, FieldAccess):  # an ndarray, or a field component by component
            self.program.trees.copy(self, other)
            return
        if (other.shape, other.element_shape) != (self.shape, self.element_shape):
            raise ValueError(f"copy_from: shapes {self.shape} and {other.shape} differ")
        if other is self:
            return
        self.refuse_write_in_kernel()
        memory, source = self.find_memory(), other.find_memory()
        if self.primal is None:
            self.count_write()
        if self.is_followed and self.program.threads.recorder is not None:
            self.program.threads.recorder.host_copy(self, other)
        memory.copy(source)
        if self.primal is not None or not self.dtype.is_float:
            return
        if other.primal is None:
            self.program.poles.note_copy(other.symbol, self.symbol)
        if other.primal is not None or not np.can_cast(other.dtype.numpy, self.dtype.numpy):
            self.note_values(source.read())  # of adjoints and tangents nothing is noted

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError(
                f"field '{self.symbol}' has no axes and therefore no length: its element is x[None]"
            )
        return self.shape[0]

    def __bool__(self) -> NoReturn:
        raise TypeError(
            f"a field has no truth value: '{self.symbol} is None' tests whether there is a "
            "field, "
            f"{self.symbol}[{'None' if self.placed_in is not None and not self.shape else '...'}] "
            "is an element"
        )

    def __reduce_ex__(self, protocol: object = None) -> NoReturn:
        raise TypeError(
            f"field '{self.symbol}' belongs to a running program, so it cannot be pickled or "
            "copied: save x.to_numpy(), and load it into a new field by from_numpy"
        )

    __copy__ = __deepcopy__ = __reduce_ex__

    def __iter__(self) -> NoReturn:
        refuse_iteration(self.description)

    def __str__(self) -> str:
        return str(self.to_numpy())


def elements_of(
    values: object, shape: tuple[int, ...], element_shape: tuple[int, ...], target: str
) -> Values:
    """An array of elements; vectors may be matrices of one column, or of one row. Raises ValueError
    for other shapes."""
    array, expected = array_of(values, target), (*shape, *element_shape)
    columns = (*expected, 1), (*expected[:-1], 1, *expected[-1:])
    if array.shape != expected and not (len(element_shape) == 1 and array.shape in columns):
        raise ValueError(f"from_numpy: {target} has shape {expected}, the array has {array.shape}")
    return array.reshape(expected)
