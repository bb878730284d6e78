"""Components of fields of vectors and matrices."""

from __future__ import annotations

from typing import Any, NoReturn, Protocol

from numpy.typing import DTypeLike

from mlirad.errors import TaichiIndexError, TaichiRuntimeError
from mlirad.frontend.python.places.arrays import ArrayRef
from mlirad.lang.host.host_values import array_of, check_element
from mlirad.runtime.memory.field import FieldMemory
from mlirad.runtime.memory.memory import Index
from mlirad.runtime.memory.values import Values
from mlirad.types import DataType


class Whole(Protocol):
    """A field of vectors or matrices."""

    symbol: str
    dtype: DataType
    element_shape: tuple[int, ...]

    @property
    def described(self) -> str:
        """What messages call it."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells along each index axis."""

    @property
    def grad(self) -> Whole | None:
        """The field of adjoints."""

    def __getitem__(self, key: object) -> Any:
        """An element."""

    def located(self) -> FieldMemory:
        """Its memory."""

    def fitted(self, values: Values) -> Values:
        """Values as elements take them."""

    def note_write(self, index: Index | None = None) -> None:
        """Python writes to a place among the elements."""

    def to_numpy(self, keep_dims: bool = False, dtype: DTypeLike | None = None) -> Values:
        """A copy of all elements."""

    def __kernel_ref__(self) -> ArrayRef:
        """The array inside a kernel."""


class ComponentField:
    """One component of a field of vectors or matrices, seen as a field of scalars."""

    def __init__(self, whole: Whole, position: tuple[int, ...]) -> None:
        self.whole, self.position = whole, position
        self.dtype = whole.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells along each index axis."""
        return self.whole.shape

    @property
    def grad(self) -> ComponentField | None:
        """The same component of the adjoints."""
        return None if self.whole.grad is None else ComponentField(self.whole.grad, self.position)

    @property
    def refusal(self) -> str:
        """What is said of a place of its own."""
        return (
            f"component {self.position} of field '{self.whole.symbol}' cannot be placed by itself: "
            "the whole field is placed already"
        )

    def put_into(self, node: object, offset: object) -> NoReturn:
        raise TaichiRuntimeError(self.refusal)

    def __getitem__(self, key: object) -> Any:
        return self.whole[key][self.position]

    def __setitem__(self, key: object, value: object) -> None:
        self.whole[key][self.position] = value

    def fill(self, value: object) -> None:
        """Set the component of every element."""
        elements = self.whole.located().elements
        values = array_of(value, self.whole.described)
        check_element(values, ())
        number = self.whole.fitted(values)
        index = self._places(len(elements.shape))
        self.whole.note_write(index)
        elements.put(index, number)

    def to_numpy(self, dtype: DTypeLike | None = None) -> Values:
        """A copy of the component of every element."""
        where: tuple[Any, ...] = (..., *self.position)
        return self.whole.to_numpy(dtype=dtype)[where]

    def from_numpy(self, values: object) -> None:
        """Set the component of every element."""
        array = array_of(values, self.whole.described)
        if array.shape != self.shape:
            raise ValueError(
                f"from_numpy: the field has shape {self.shape}, the array has {array.shape}"
            )
        memory = self.whole.located()
        where: tuple[Any, ...] = (..., *self.position)
        values = memory.read()
        values[where] = self.whole.fitted(array)
        self.whole.note_write(self._places(len(memory.elements.shape)))
        memory.write(values)

    def _places(self, rank: int) -> Index:
        """The component of all elements."""
        return (*(slice(None),) * (rank - len(self.position)), *self.position)

    def __kernel_ref__(self) -> ArrayRef:
        array = self.whole.__kernel_ref__()
        array.component = self.position
        return array


def position_in(shape: tuple[int, ...], given: tuple[int, ...]) -> tuple[int, ...]:
    """Which component of an element is named; vectors are matrices of one column. Raises
    TaichiIndexError for none."""
    position = given[:1] if len(given) == 2 and len(shape) == 1 else given
    if len(position) != len(shape):
        raise TaichiIndexError(f"{len(position)} indices for a component of shape {shape}")
    if any(not 0 <= part < extent for part, extent in zip(given, (*shape, 1))):
        raise TaichiIndexError(f"an element of shape {shape} has no component {given}")
    return position
