"""The types that parameters of kernels and functions may be declared as."""

from __future__ import annotations
import __future__

from collections.abc import Callable
from contextlib import suppress
from dataclasses import is_dataclass
from types import FrameType
from typing import Any

import msgspec

from mlirad.errors import TaichiCompilationError, TaichiSyntaxError, TaichiTypeError
from mlirad.frontend.python.building.builder import current, in_kernel
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.matrix import Matrix
from mlirad.frontend.python.values.matrix_operators import Operand
from mlirad.types import DataType, TypeLike, resolve


class Template:
    """A parameter that is a compile-time constant, passed by reference: `ti.template()`."""

    def __init__(self, element_type: TypeLike | None = None, dim: int | None = None) -> None:
        self.element_type, self.dim = element_type, dim


class Reference(msgspec.Struct, frozen=True):
    """A parameter of a function that refers to the variable of its caller: `ti.ref(dtype)`."""

    dtype: TypeLike | MatrixType


class MatrixType:
    """The type of an n×m matrix, or of a vector (`ndim` 1). Calling it makes a value of the type.

    A type without sizes stands for any vector or matrix, where an array is declared.
    """

    def __init__(self, n: int | None, m: int | None, dtype: TypeLike | None, ndim: int) -> None:
        self.is_open = n is None
        self.n, self.m, self.ndim = n or 0, m or 1, ndim
        self.dtype: Any = dtype

    def admits(self, shape: tuple[int, ...]) -> bool:
        """Return whether values of this type may have a shape."""
        return len(shape) == self.ndim if self.is_open else tuple(shape) == self.shape

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.n,) if self.ndim == 1 else (self.n, self.m)

    def as_member(self) -> MatrixType:
        """Return the type of a struct's member that is declared as this."""
        return self

    def get_shape(self) -> tuple[int, ...]:
        """The shape, as a tuple."""
        return self.shape

    def scalar(self) -> DataType:
        """The type of the entries; the default float if none was named."""
        dtype = float if self.dtype is None else self.dtype
        return (
            resolve(dtype, current().default_fp, current().default_ip)
            if in_kernel()
            else resolve(dtype)
        )

    def __call__(self, *arguments: Operand) -> Matrix:
        entries: list[Any] = []
        for argument in arguments:
            entries += _entries(argument)
        size = self.n * self.m
        if len(entries) == 1:
            entries = entries * size
        if len(entries) != size:
            raise TaichiCompilationError(
                f"got {len(entries)} entries for a value of shape {self.shape}"
            )
        result = self.matrix_class().of_shape(self.shape, entries)
        return result.cast(self.dtype if self.dtype is not None else float)

    def matrix_class(self) -> type[Matrix]:
        """The class of the values."""
        return Matrix

    def __repr__(self) -> str:
        if self.ndim == 1:
            return f"VectorType[{self.n}, {self.dtype}]"
        return f"MatrixType[{self.n},{self.m}, {self.dtype}]"


def _entries(argument: Operand) -> list[Any]:
    if isinstance(argument, Matrix):
        return list(argument.entries)
    if isinstance(argument, list | tuple):
        return [entry for element in argument for entry in _entries(element)]
    if hasattr(argument, "tolist"):
        elements = argument.tolist()
        return _entries(elements) if isinstance(elements, list) else [elements]
    if not ex.is_scalar(argument):
        raise TaichiCompilationError(f"a {type(argument).__name__} cannot be an entry of a matrix")
    return [argument]


class NdarrayType(msgspec.Struct, frozen=True):
    """`ti.types.ndarray(dtype, ndim, needs_grad)`: an array argument; None leaves a property
    open."""

    dtype: TypeLike | MatrixType | None = None
    ndim: int | None = None
    needs_grad: bool | None = None
    boundary: str = "unsafe"


class BufferViewType(msgspec.Struct, frozen=True):
    """`qd.BufferView[dtype]`: a view of an ndarray of one axis."""

    dtype: TypeLike | MatrixType | None = None
    boundary: str = "unsafe"


class FieldOrArray(msgspec.Struct, frozen=True):
    """A parameter that takes a field, by reference, or an array, which launches pass. A class whose
    `__parameter_type__` is one declares such a parameter."""


def unwrapped(annotation: Any) -> Any:
    """Return what kernels read of an annotation: of `Annotated[ti.Vector, vec2]`, in which the
    first is for type checkers, the second. `Annotated[ti.types.ndarray, ti.f32, 2]` is
    `ti.types.ndarray(ti.f32, 2)`."""
    metadata = getattr(annotation, "__metadata__", None)
    if metadata is None:
        return annotation
    kind, declared = annotation.__origin__, metadata[0]
    is_array = getattr(kind, "__parameter_type__", None) is NdarrayType
    return kind(*metadata) if is_array and not isinstance(declared, NdarrayType) else declared


def declared_type(annotation: object) -> Any:
    """Return what an annotation declares, which a class may say by `__parameter_type__`."""
    annotation = unwrapped(annotation)
    return getattr(annotation, "__parameter_type__", annotation)


def is_dataclass_type(annotation: object) -> bool:
    """Return whether an annotation is one of Python's dataclasses: its members are arguments."""
    return isinstance(annotation, type) and is_dataclass(annotation)


def is_template(annotation: object) -> bool:
    """Return whether an annotation is `ti.template` or `ti.template()`."""
    return annotation is Template or isinstance(annotation, Template)


def is_by_reference(annotation: object) -> bool:
    """Return whether a parameter stands for its argument itself, and can write to it."""
    return is_template(annotation) or isinstance(annotation, Reference)


def evaluate_annotations(function: Callable[..., object], frame: FrameType | None) -> None:
    """Replace annotations that are text by the objects that they name in the scope of the function.

    Local names are visible too: those of the frame, and of the one around it for a method.
    `inspect` and `typing` evaluate them in the same way, but see no local names, and give up at the
    first unknown one. Raises TaichiSyntaxError for text that the program wrote and that names
    nothing; text that `from __future__ import annotations` made is an error when the kernel is
    first used. Raises TaichiTypeError for an object that is no function.
    """
    annotations = getattr(function, "__annotations__", None)
    if annotations is None:
        raise TaichiTypeError(
            "ti.kernel, ti.func and similar decorators apply to functions: got "
            f"{type(function).__name__}"
        )
    if frame is None or not any(isinstance(value, str) for value in annotations.values()):
        return
    outer = {} if frame.f_back is None else frame.f_back.f_locals
    names = {**outer, **frame.f_locals}
    for name, value in annotations.items():
        if isinstance(value, str):
            with suppress(NameError, AttributeError):
                annotations[name] = eval(value, function.__globals__, names)
                continue
            if not function.__code__.co_flags & __future__.annotations.compiler_flag:
                raise TaichiSyntaxError(
                    f"Invalid type annotation (argument {name}) of '{function.__name__}': {value}"
                )
