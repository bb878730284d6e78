"""Functions whose gradient is another function, or nothing: `grad_replaced`, `grad_for`,
`no_grad`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from mlirad.errors import TaichiRuntimeError
from mlirad.frontend.python.source.function import Function
from mlirad.lang.autodiff_mode import AutodiffMode
from mlirad.lang.kernels.kernel import Kernel
from mlirad.lang.recorder import FunctionCall
from mlirad.runtime.program import program

_NOT_A_KERNEL = (
    "Primal function must be a **python** function instead of a taichi kernel. Please wrap the "
    "taichi kernel in a @ti.ad.grad_replaced decorated python function instead."
)


def grad_replaced(function: Callable[..., Any]) -> Any:
    """Decorate a Python function that launches kernels so that a tape records its calls instead of
    those launches.

    The reverse calls the function that `ti.ad.grad_for` registered, with the same arguments. At
    that point, memory that the call only read holds the values that the call read. Memory that the
    call wrote may have been overwritten by later calls of such functions (with `rules="refuse"`, by
    any later launch). The tape does not save or restore memory that the gradient function writes.

    Raises:
        TaichiRuntimeError: the function is a kernel or a `@ti.func`; or a tape records a call of a
            function without a gradient.
    """
    _check_primal(function)

    @wraps(function)
    def decorated(*args: Any, **keywords: Any) -> Any:
        return _run(FunctionCall(decorated, function, args, keywords))  # type: ignore[arg-type]

    decorated.grad = None  # type: ignore[attr-defined]
    decorated.autodiff_mode = AutodiffMode.NONE  # type: ignore[attr-defined]
    return decorated


def _run(call: FunctionCall) -> Any:
    recorder = program().threads.recorder
    return call.run() if recorder is None else recorder.call_function(call)


def _check_primal(function: object) -> None:
    if isinstance(function, Kernel):
        raise TaichiRuntimeError(_NOT_A_KERNEL)
    if isinstance(function, Function):
        raise TaichiRuntimeError(
            f"'{function.__name__}' is a @ti.func: use def_vjp to give it its own derivative"
        )


def grad_for(primal: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorate the function that computes the gradient of `primal`, a function decorated with
    `ti.ad.grad_replaced`.

    Raises:
        TaichiRuntimeError: `primal` is a kernel or a `@ti.func`, is not decorated, or already has a
            gradient.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        target = getattr(primal, "__func__", primal)  # of a method, and of what staticmethod wraps
        _check_primal(target)
        if not hasattr(target, "grad"):
            raise TaichiRuntimeError("Primal function must be decorated by ti.ad.grad_replaced")
        if target.grad is not None:
            raise TaichiRuntimeError(f"'{target.__name__}' already has a gradient")

        @wraps(function)
        def decorated(*args: Any, **keywords: Any) -> None:
            function(*args, **keywords)

        target.grad = decorated
        return decorated

    return decorate


def no_grad(function: Callable[..., Any]) -> Any:
    """Decorate a kernel, a `@ti.func`, or a Python function that launches kernels: no derivative
    passes through its calls.

    Everything that these calls store is constant. Write the decorator above `@ti.kernel` or
    `@ti.func`.
    """
    if isinstance(function, Function):
        return function.without_derivative()
    if isinstance(function, Kernel):
        return KernelWithoutGradient(function)
    decorated = grad_replaced(function)
    decorated.grad = nothing
    return decorated


def nothing(*args: object, **keywords: object) -> None:
    """The gradient of a function that has none."""


class KernelWithoutGradient:
    """A kernel through which no derivative passes."""

    autodiff_mode = AutodiffMode.NONE
    grad = staticmethod(nothing)

    def __init__(self, kernel: Kernel) -> None:
        self.__name__, self.__doc__, self.__wrapped__ = kernel.__name__, kernel.__doc__, kernel

    def __get__(self, owner: object, kind: object = None) -> KernelWithoutGradient:
        """Return the kernel of an object, if it is a method."""
        kernel = self.__wrapped__
        return self if owner is None else KernelWithoutGradient(kernel.__get__(owner, kind))

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return _run(FunctionCall(self, self.__wrapped__, args, keywords))
