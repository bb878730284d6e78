"""Derivatives as functions: `ti.ad.grad` and its kin, of functions in kernels."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlirad.ad.derivatives import Derivative


def grad(function: Any, argnums: int | Sequence[int] = 0) -> Any:
    """The gradient of a `@ti.func` that returns a scalar: a function of the same arguments.

    It has the shape of the argument that `argnums` names, or is a tuple of such for a tuple. Kernels and functions can
    call it, and Python. Raises TaichiTypeError for anything but a function, for parameters that it does not have; where
    it is called, for arguments that are no floats, for results that are no scalar, for functions with side effects.
    """
    return Derivative("grad", function, argnums)


def value_and_grad(function: Any, argnums: int | Sequence[int] = 0) -> Any:
    """A function that gives the result of a `@ti.func` and its gradient; see `grad`."""
    return Derivative("value_and_grad", function, argnums)


def jvp(function: Any, argnums: int | Sequence[int] = 0) -> Any:
    """A function that gives the result of a `@ti.func` and its tangent (Jacobian times vector), in its structure.

    It takes the arguments of the function, then `tangent`: of the shape of the argument that `argnums` names, or a tuple.
    """
    return Derivative("jvp", function, argnums)


def vjp(function: Any, argnums: int | Sequence[int] = 0) -> Any:
    """A function that gives the result of a `@ti.func` and the adjoint of its argument (vector times Jacobian).

    It takes the arguments of the function, then `adjoint`, which has the structure of the result.
    """
    return Derivative("vjp", function, argnums)


def jacobian(function: Any, argnums: int | Sequence[int] = 0) -> Any:
    """All derivatives of the result of a `@ti.func`: row i, column j is that of component i in component j.

    Of a scalar, it has the shape of the argument; in a scalar, that of the result. Raises TaichiTypeError for other
    derivatives of matrices or in them.
    """
    return Derivative("jacobian", function, argnums)


def forward(function: Any, argnums: int | Sequence[int] = 0) -> Any:
    """The derivative of a `@ti.func` in a scalar argument, of the shape of its result."""
    return Derivative("forward", function, argnums)
