"""`ti.types`: the types of parameters and of elements."""

from collections.abc import Iterator
from typing import Any, Protocol, TypeAlias

from mlirad.lang.types_namespace import argpack as argpack
from mlirad.lang.types_namespace import is_integral as is_integral
from mlirad.lang.types_namespace import is_real as is_real
from mlirad.lang.types_namespace import sparse_matrix_builder as sparse_matrix_builder
from mlirad.lang.types_namespace import struct as struct
from mlirad.typed.makers import ArrayKind, MatrixMaker, VectorMaker
from mlirad.typed.scalars import f16 as f16
from mlirad.typed.scalars import f32 as f32
from mlirad.typed.scalars import f64 as f64
from mlirad.typed.scalars import i8 as i8
from mlirad.typed.scalars import i16 as i16
from mlirad.typed.scalars import i32 as i32
from mlirad.typed.scalars import i64 as i64
from mlirad.typed.scalars import u1 as u1
from mlirad.typed.scalars import u8 as u8
from mlirad.typed.scalars import u16 as u16
from mlirad.typed.scalars import u32 as u32
from mlirad.typed.scalars import u64 as u64
from mlirad.types import TypeLike

template: TypeAlias = Any

class ndarray(Protocol, metaclass=ArrayKind):
    """An array argument: an ndarray, or an array of NumPy's, torch's or JAX's."""

    @property
    def shape(self) -> Any: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __getitem__(self, key: Any, /) -> Any: ...
    def __setitem__(self, key: Any, value: Any, /) -> None: ...

def is_signed(dtype: TypeLike) -> bool:
    """Return whether a scalar type is one of integers with a sign."""

def vector(n: int | None = None, dtype: TypeLike | None = None) -> VectorMaker:
    """The type of vectors of `n` entries of a scalar type; called, it makes a vector."""

def matrix(
    n: int | None = None, m: int | None = None, dtype: TypeLike | None = None
) -> MatrixMaker:
    """The type of n×m matrices of a scalar type; called, it makes a matrix."""
