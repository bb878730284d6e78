"""What the makers of `ti.types` return."""

from typing import Any, Literal, Unpack, _ProtocolMeta

from mlirad.frontend.python.values.annotations import MatrixType, NdarrayType
from mlirad.lang.layout.axes import Shape
from mlirad.typed.arrays import MatrixField, Ndarray, NdarrayOptions, Options
from mlirad.typed.matrices import Matrix, Vector

class ArrayKind(_ProtocolMeta):
    def __call__(
        cls,
        dtype: object = None,
        ndim: int | None = None,
        needs_grad: bool | None = None,
        boundary: Literal["unsafe", "clamp"] = "unsafe",
        element_dim: int | None = None,
        element_shape: tuple[int, ...] | None = None,
        field_dim: int | None = None,
    ) -> NdarrayType: ...

class VectorMaker(MatrixType):
    def __call__(self, *arguments: Any) -> Vector: ...
    def field(
        self, shape: Shape | None = None, **options: Unpack[Options]
    ) -> MatrixField[Vector, Any]: ...
    def ndarray(self, shape: Shape, **options: Unpack[NdarrayOptions]) -> Ndarray[Vector, Any]: ...

class MatrixMaker(MatrixType):
    def __call__(self, *arguments: Any) -> Matrix: ...
    def field(
        self, shape: Shape | None = None, **options: Unpack[Options]
    ) -> MatrixField[Matrix, Any]: ...
    def ndarray(self, shape: Shape, **options: Unpack[NdarrayOptions]) -> Ndarray[Matrix, Any]: ...
