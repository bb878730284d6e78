"""What kernels call: numbers give numbers, vectors and matrices values of their kind."""

from collections.abc import Iterable
from typing import Any, Protocol, SupportsIndex, TypeAlias, TypeVar, overload

from mlirad.typed.matrices import Matrix, Vector
from mlirad.types import DataType

__all__ = [
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "atomic_add",
    "atomic_and",
    "atomic_exchange",
    "atomic_max",
    "atomic_min",
    "atomic_mul",
    "atomic_or",
    "atomic_sub",
    "atomic_xor",
    "bit_cast",
    "cast",
    "cbrt",
    "ceil",
    "copysign",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "grouped",
    "hypot",
    "is_active",
    "length",
    "log",
    "log1p",
    "log2",
    "log10",
    "max",
    "min",
    "ndrange",
    "one",
    "randn",
    "random",
    "round",
    "rsqrt",
    "select",
    "sin",
    "sinh",
    "sqrt",
    "static",
    "stop_grad",
    "tan",
    "tanh",
    "trunc",
    "zero",
]

M = TypeVar("M", bound=Matrix)
T = TypeVar("T")
Range: TypeAlias = SupportsIndex | tuple[SupportsIndex, SupportsIndex]

class Unary(Protocol):
    @overload
    def __call__(self, x: float, /) -> float: ...
    @overload
    def __call__(self, x: M, /) -> M: ...
    @overload
    def __call__(self, x: Iterable[Any], /) -> Matrix: ...

class Binary(Protocol):
    @overload
    def __call__(self, left: float, right: float, /) -> float: ...
    @overload
    def __call__(self, left: Any, right: Any, /) -> Any: ...

class SameType(Protocol):
    @overload
    def __call__(self, value: int) -> int: ...
    @overload
    def __call__(self, value: float) -> float: ...
    @overload
    def __call__(self, value: M) -> M: ...
    @overload
    def __call__(self, value: Iterable[Any]) -> Matrix: ...

class Extremum(Protocol):
    @overload
    def __call__(self, first: int, *more: int) -> int: ...
    @overload
    def __call__(self, first: float, *more: float) -> float: ...
    @overload
    def __call__(self, first: Any, *more: Any) -> Any: ...

class Rounding(Protocol):
    @overload
    def __call__(self, value: float) -> float: ...
    @overload
    def __call__(self, value: M, dtype: object = None) -> M: ...
    @overload
    def __call__(self, value: float, dtype: type[T]) -> T: ...
    @overload
    def __call__(self, value: Iterable[Any], dtype: object = None) -> Matrix: ...

class Atomic(Protocol):
    def __call__(self, place: T, value: Any) -> T: ...

abs: SameType
zero: SameType
one: SameType
max: Extremum
min: Extremum
ceil: Rounding
floor: Rounding
round: Rounding
trunc: Rounding
atan2: Binary
copysign: Binary
hypot: Binary
atomic_add: Atomic
atomic_and: Atomic
atomic_exchange: Atomic
atomic_max: Atomic
atomic_min: Atomic
atomic_mul: Atomic
atomic_or: Atomic
atomic_sub: Atomic
atomic_xor: Atomic
acos: Unary
acosh: Unary
asin: Unary
asinh: Unary
atan: Unary
atanh: Unary
cbrt: Unary
cos: Unary
cosh: Unary
erf: Unary
erfc: Unary
exp: Unary
exp2: Unary
expm1: Unary
log: Unary
log10: Unary
log1p: Unary
log2: Unary
rsqrt: Unary
sin: Unary
sinh: Unary
sqrt: Unary
tan: Unary
tanh: Unary

@overload
def cast(value: M, dtype: object) -> M: ...
@overload
def cast(value: object, dtype: type[T]) -> T: ...
@overload
def cast(value: object, dtype: object) -> Any: ...
@overload
def bit_cast(value: Any, dtype: type[T]) -> T: ...
@overload
def bit_cast(value: Any, dtype: DataType) -> Any: ...
@overload
def select(condition: Any, left: int, right: int) -> int: ...
@overload
def select(condition: Any, left: float, right: float) -> float: ...
@overload
def select(condition: Any, left: Any, right: Any) -> Any: ...
def is_active(block: object, index: Any) -> int: ...
def length(block: object, index: Any) -> int: ...
@overload
def random() -> float: ...
@overload
def random(dtype: type[T]) -> T: ...
@overload
def random(dtype: object) -> Any: ...
def randn(dtype: object = ...) -> float: ...
@overload
def static(value: T, /) -> T: ...
@overload
def static(*values: T) -> tuple[T, ...]: ...
def stop_grad(value: T) -> T: ...
@overload
def ndrange(range_: Range, /, *, axes: Iterable[int] | None = None) -> Iterable[int]: ...
@overload
def ndrange(
    first: Range, second: Range, /, *, axes: Iterable[int] | None = None
) -> Iterable[tuple[int, int]]: ...
@overload
def ndrange(
    first: Range, second: Range, third: Range, /, *, axes: Iterable[int] | None = None
) -> Iterable[tuple[int, int, int]]: ...
@overload
def ndrange(
    first: Range,
    second: Range,
    third: Range,
    fourth: Range,
    /,
    *more: Range,
    axes: Iterable[int] | None = None,
) -> Iterable[Any]: ...
def grouped(domain: object) -> Iterable[Vector]: ...
