"""Fields and ndarrays, by the type of their elements and the indices that a loop over them has."""

from collections.abc import Iterator, Sequence
from types import EllipsisType
from typing import Any, Generic, Self, SupportsIndex, TypeAlias, TypedDict, Unpack, overload

from typing_extensions import TypeVar

from mlirad.lang.field.field import Field as PlainField
from mlirad.lang.field.struct_field import StructField as PlainStructField
from mlirad.lang.layout.axes import Shape
from mlirad.lang.layout.member_order import Layout
from mlirad.lang.layout.tree import Offset
from mlirad.lang.ndarray import Ndarray as PlainNdarray
from mlirad.typed.matrices import Matrix

__all__ = [
    "Field",
    "MatrixField",
    "MatrixNdarray",
    "Ndarray",
    "ScalarField",
    "ScalarNdarray",
    "StructField",
    "VectorNdarray",
    "field",
    "ndarray",
]

Element = TypeVar("Element", default=Any)
Index = TypeVar("Index", default=Any)
M = TypeVar("M", bound=Matrix)
T = TypeVar("T")

OneAxis: TypeAlias = SupportsIndex | tuple[SupportsIndex]
Pair: TypeAlias = tuple[SupportsIndex, SupportsIndex]
Triple: TypeAlias = tuple[SupportsIndex, SupportsIndex, SupportsIndex]
Slices: TypeAlias = (
    slice
    | EllipsisType
    | tuple[slice, Any]
    | tuple[Any, slice]
    | tuple[slice, Any, Any]
    | tuple[Any, slice, Any]
    | tuple[Any, Any, slice]
)

class Options(TypedDict, total=False):
    order: str | None
    name: str
    offset: Offset
    needs_grad: bool
    needs_dual: bool
    layout: object
    ndim: int | None

class NdarrayOptions(TypedDict, total=False):
    needs_grad: bool
    layout: Layout | Sequence[int] | None

class Field(PlainField, Generic[Element, Index]):
    dtype: Any
    @property
    def grad(self) -> Self: ...
    @property
    def dual(self) -> Self: ...
    @overload
    def __getitem__(self, key: Slices) -> Any: ...
    @overload
    def __getitem__(self, key: object) -> Element: ...
    def __setitem__(self, key: object, value: object) -> None: ...
    def __iter__(self) -> Iterator[Index]: ...  # type: ignore[override]
    def parent(self, n: int = 1) -> Any: ...
    def append(self, value: Any) -> int: ...  # type: ignore[override]
    def length(self) -> int: ...  # type: ignore[override]

class ScalarField(Field[Element, Index]): ...
class MatrixField(Field[Element, Index]): ...

class StructField(PlainStructField):
    @property
    def grad(self) -> Self: ...
    @property
    def dual(self) -> Self: ...
    def __getitem__(self, key: object) -> Any: ...
    def __iter__(self) -> Iterator[Any]: ...  # type: ignore[override]
    def parent(self, n: int = 1) -> Any: ...

class Ndarray(PlainNdarray, Generic[Element, Index]):
    dtype: Any
    @property
    def grad(self) -> Self: ...
    @property
    def dual(self) -> Self: ...
    @overload
    def __getitem__(self, key: Slices) -> Any: ...
    @overload
    def __getitem__(self, key: object) -> Element: ...
    def __setitem__(self, key: object, value: object) -> None: ...
    def __iter__(self) -> Iterator[Index]: ...

ScalarNdarray: TypeAlias = Ndarray
VectorNdarray: TypeAlias = Ndarray
MatrixNdarray: TypeAlias = Ndarray

@overload
def field(  # type: ignore[overload-overlap]
    dtype: type[M], shape: Shape | None = None, **options: Unpack[Options]
) -> MatrixField[M, Any]: ...
@overload
def field(dtype: type[T], shape: tuple[()], **options: Unpack[Options]) -> ScalarField[T, None]: ...
@overload
def field(dtype: type[T], shape: OneAxis, **options: Unpack[Options]) -> ScalarField[T, int]: ...
@overload
def field(
    dtype: type[T], shape: Pair, **options: Unpack[Options]
) -> ScalarField[T, tuple[int, int]]: ...
@overload
def field(
    dtype: type[T], shape: Triple, **options: Unpack[Options]
) -> ScalarField[T, tuple[int, int, int]]: ...
@overload
def field(
    dtype: type[T], shape: Shape | None = None, **options: Unpack[Options]
) -> ScalarField[T, Any]: ...
@overload
def field(
    dtype: object, shape: Shape | None = None, **options: Unpack[Options]
) -> Field[Any, Any]: ...
@overload
def ndarray(
    dtype: type[T], shape: OneAxis, **options: Unpack[NdarrayOptions]
) -> Ndarray[T, int]: ...
@overload
def ndarray(
    dtype: type[T], shape: Pair, **options: Unpack[NdarrayOptions]
) -> Ndarray[T, tuple[int, int]]: ...
@overload
def ndarray(
    dtype: type[T], shape: Triple, **options: Unpack[NdarrayOptions]
) -> Ndarray[T, tuple[int, int, int]]: ...
@overload
def ndarray(dtype: type[T], shape: Shape, **options: Unpack[NdarrayOptions]) -> Ndarray[T, Any]: ...
@overload
def ndarray(
    dtype: object, shape: Shape, **options: Unpack[NdarrayOptions]
) -> Ndarray[Any, Any]: ...
