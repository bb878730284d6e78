"""Components of fields of vectors and matrices."""

from __future__ import annotations

from typing import Any, NoReturn

from numpy.typing import DTypeLike

from mlirad.errors import TaichiIndexError, TaichiRuntimeError
from mlirad.frontend.python.places.arrays import ArrayRef
from mlirad.lang.field.access import FieldAccess
from mlirad.lang.host.host_values import array_of, check_element
from mlirad.lang.host.python_misuse import keeps_derivatives
from mlirad.runtime.memory.memory import Index
from mlirad.runtime.memory.values import Values


@keeps_derivatives
class ComponentField:
    """A component of a field of vectors or matrices, seen as a field of scalars."""

    def __init__(self, field: FieldAccess, position: tuple[int, ...]) -> None:
        self.field, self.position = field, position
        self.dtype = field.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells along each index axis."""
        return self.field.shape

    @property
    def grad(self) -> ComponentField | None:
        """The component of the adjoints."""
        return None if self.field.grad is None else ComponentField(self.field.grad, self.position)

    @property
    def description(self) -> str:
        """Return what messages call it."""
        return f"component {self.position} of {self.field.description}"

    @property
    def refusal(self) -> str:
        """Return the message for a component that is placed separately."""
        return f"{self.description} cannot be placed separately: the whole field is already placed"

    def put_into(self, node: object, offset: object) -> NoReturn:
        raise TaichiRuntimeError(self.refusal)

    def __getitem__(self, key: object) -> Any:
        return self.field[key][self.position]

    def __setitem__(self, key: object, value: object) -> None:
        self.field[key][self.position] = value

    def fill(self, value: object) -> None:
        """Set the component of every element."""
        elements = self.field.find_memory().elements
        values = array_of(value, self.field.description)
        check_element(values, ())
        number = self.field.fit(values)
        index = self._places(len(elements.shape))
        self.field.note_write(index)
        elements.put(index, number)

    def to_numpy(self, dtype: DTypeLike | None = None, *, copy: bool | None = True) -> Values:
        """A copy of the component of every element, or (`copy=False`) a view of the field's."""
        where: tuple[Any, ...] = (..., *self.position)
        return self.field.to_numpy(dtype=dtype, copy=copy)[where]

    def from_numpy(self, values: object) -> None:
        """Set the component of every element."""
        array = array_of(values, self.field.description)
        if array.shape != self.shape:
            raise ValueError(
                f"from_numpy: the field has shape {self.shape}, the array has {array.shape}"
            )
        memory = self.field.find_memory()
        where: tuple[Any, ...] = (..., *self.position)
        values = memory.read()
        values[where] = self.field.fit(array)
        self.field.note_write(self._places(len(memory.elements.shape)))
        memory.write(values)

    def _places(self, rank: int) -> Index:
        return (*(slice(None),) * (rank - len(self.position)), *self.position)

    def __kernel_ref__(self) -> ArrayRef:
        array = self.field.__kernel_ref__()
        array.component = self.position
        return array


def position_in(shape: tuple[int, ...], indices: tuple[int, ...]) -> tuple[int, ...]:
    """Return the position of a component of an element; vectors are matrices of one column. Raises
    TaichiIndexError for none."""
    position = indices[:1] if len(indices) == 2 and len(shape) == 1 else indices
    if len(position) != len(shape):
        raise TaichiIndexError(
            f"expected {len(shape)} indices for a component of shape {shape}, got {len(position)}"
        )
    if any(not 0 <= index < extent for index, extent in zip(indices, (*shape, 1))):
        raise TaichiIndexError(f"an element of shape {shape} has no component {indices}")
    return position
