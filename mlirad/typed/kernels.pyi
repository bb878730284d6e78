"""Decorators that keep the parameters of a function: a call with another number or other types of
arguments is an error to a type checker."""

from collections.abc import Callable
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, dataclass_transform, overload

from mlirad.frontend.python.source.function import Function as PlainFunction
from mlirad.lang.kernels.kernel import Kernel as PlainKernel

__all__ = [
    "data_oriented",
    "dataclass",
    "func",
    "kernel",
    "pyfunc",
    "real_func",
]

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
Class = TypeVar("Class", bound=type)

class Kernel(PlainKernel, Generic[P, R]):
    @overload
    def __get__(self, owner: None, kind: object = None) -> Kernel[P, R]: ...
    @overload
    def __get__(
        self: Kernel[Concatenate[Any, Q], R], owner: object, kind: object = None
    ) -> Kernel[Q, R]: ...
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...
    def grad(self, *args: P.args, **kwargs: P.kwargs) -> None: ...

class Function(PlainFunction, Generic[P, R]):
    @overload
    def __get__(self, owner: None, kind: type | None = None) -> Function[P, R]: ...
    @overload
    def __get__(
        self: Function[Concatenate[Any, Q], R], owner: object, kind: type | None = None
    ) -> Function[Q, R]: ...
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...  # type: ignore[override]

@overload
def kernel(function: Callable[P, R]) -> Kernel[P, R]: ...
@overload
def kernel(function: None = None) -> Callable[[Callable[P, R]], Kernel[P, R]]: ...
@overload
def func(function: Callable[P, R]) -> Function[P, R]: ...
@overload
def func(function: None = None) -> Callable[[Callable[P, R]], Function[P, R]]: ...

pyfunc = func

def real_func(function: Callable[P, R]) -> Function[P, R]: ...
@overload
def data_oriented(cls: Class) -> Class: ...
@overload
def data_oriented(
    cls: None = None, *, template_primitives: bool = True
) -> Callable[[Class], Class]: ...
@dataclass_transform()
def dataclass(cls: Class) -> Class: ...
