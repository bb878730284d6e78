"""Functions of Python and NumPy that programs call where the language has a function of its own."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Sequence
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from mlirad.errors import TaichiTypeError
from mlirad.frontend.python.places.arrays import array_ref
from mlirad.frontend.python.values import functions as fn
from mlirad.frontend.python.values.matrix import Matrix
from mlirad.frontend.python.values.scalar import Expr

_MODULES = ("math", "cmath", "numpy", "random")
_OUTSIDE = ("time", "uuid", "secrets")
_PRESENT = ("now", "today", "utcnow")  # of datetime's classes
_LOOP = "a loop over its elements, x[i], computes with them"
_RENAMED = {
    "arctan2": "ti.atan2(y, x)",
    "arctan": "ti.atan",
    "arcsin": "ti.asin",
    "arccos": "ti.acos",
    "arcsinh": "ti.asinh",
    "arccosh": "ti.acosh",
    "arctanh": "ti.atanh",
    "fabs": "ti.abs",
    "absolute": "ti.abs",
    "power": "ti.pow",
    "minimum": "ti.min",
    "fmin": "ti.min",
    "maximum": "ti.max",
    "fmax": "ti.max",
    "where": "ti.select",
    "mod": "the operator %",
    "fmod": "ti.raw_mod",
    "remainder": "the operator %",
    "square": "x * x",
    "dot": "a.dot(b)",
    "cross": "a.cross(b)",
    "outer": "a.outer_product(b)",
    "norm": "x.norm()",
    "sum": "x.sum()",
    "prod": "x.prod()",
    "array": "ti.Vector or ti.Matrix",
    "asarray": "ti.Vector or ti.Matrix",
    "zeros": "ti.Vector.zero(float, n)",
    "ones": "ti.Vector.one(float, n)",
    "isnan": "ti.math.isnan",
    "isinf": "ti.math.isinf",
    "clip": "ti.math.clamp",
    "degrees": "ti.math.degrees",
    "radians": "ti.math.radians",
}
_OF_ARRAYS = {  # functions of Python that iterate while the kernel is compiled
    builtins.enumerate: "for i in x: gives the index i, and x[i] is its element",
    builtins.sum: "for i in x: total += x[i] adds its elements",
    builtins.zip: "for i in x: gives the index i of x[i] and y[i]",
    builtins.len: "x.shape[0] is its length",
    **dict.fromkeys(
        (
            builtins.list,
            builtins.tuple,
            builtins.sorted,
            builtins.reversed,
            builtins.map,
            builtins.filter,
            builtins.iter,
        ),
        "for i in x: visits its elements, x[i]",
    ),
}
_DRAWS = {
    "randint": "ti.random(int)",
    "integers": "ti.random(int)",
    "randrange": "ti.random(int)",
    "gauss": "ti.randn()",
    "normal": "ti.randn()",
    "normalvariate": "ti.randn()",
    "standard_normal": "ti.randn()",
    "randn": "ti.randn()",
}


def refuse_counterpart(
    callee: Callable[..., object], arguments: Sequence[object], *, is_static: bool
) -> None:
    """Raise TaichiTypeError, naming the cure, for a function of Python that cannot see values of a
    kernel.

    A random number, and the time, are such, unless they are asked for within `ti.static`: once,
    while compiling.
    """
    if not is_static:
        _refuse_once(callee)
        _refuse_walk(callee, arguments)
    if _module(callee) in _MODULES and any(_is_late(argument) for argument in arguments):
        has_array = any(array_ref(argument) is not None for argument in arguments)
        raise TaichiTypeError(
            f"{_spelt(callee)} is called by Python while the kernel is compiled, so it cannot "
            "take a value that is known only at run time: "
            + (_LOOP if has_array else _counterpart(callee.__name__))
        )


def _refuse_walk(callee: Any, arguments: Sequence[object]) -> None:
    """Raise TaichiTypeError for a function of Python that would iterate over an array."""
    cure = _OF_ARRAYS.get(callee) if getattr(callee, "__hash__", None) else None
    if cure and any(array_ref(argument) is not None for argument in arguments):
        raise TaichiTypeError(
            f"{callee.__name__}(...) is a Python function, which runs while the kernel is "
            f"compiled and cannot iterate over an array: {cure}"
        )


def _refuse_once(callee: Any) -> None:
    """Raise TaichiTypeError for a function that gives another value each time."""
    if _draws(callee):
        raise TaichiTypeError(
            f"{_spelt(callee)} draws a single number, while the kernel is compiled: "
            f"{_DRAWS.get(callee.__name__, 'ti.random()')} draws in every iteration; use "
            "ti.static(...) if you want one number"
        )
    name = _outside(callee)
    if name is not None:
        raise TaichiTypeError(
            f"{name}() is called once, while the kernel is compiled: pass its result as an "
            "argument, or store it in a field; use ti.static(...) if you want one value"
        )


def _outside(callee: Any) -> str | None:
    """The name of a function that reads the time, what a user types, or a name that nothing else
    has; None for others."""
    owner, name = getattr(callee, "__self__", None), getattr(callee, "__name__", "")
    if isinstance(owner, type) and owner.__module__ == "datetime":
        return f"{owner.__name__}.{name}" if name in _PRESENT else None
    if isinstance(callee, BuiltinFunctionType | FunctionType) and _module(callee) in _OUTSIDE:
        return f"{_module(callee)}.{name}"
    return "input" if callee is builtins.input else None


def _draws(callee: Callable[..., object]) -> bool:
    owner = getattr(callee, "__self__", None)
    numpy_random = sys.modules.get("numpy.random")  # which NumPy loads when it is asked for
    if numpy_random is not None and isinstance(
        owner, numpy_random.RandomState | numpy_random.Generator
    ):
        return True
    random = sys.modules.get("random")
    return random is not None and isinstance(owner, random.Random)


def _module(callee: Callable[..., object]) -> str:
    if isinstance(callee, np.ufunc):
        return "numpy"
    return (
        str(getattr(callee, "__module__", None) or "").partition(".")[0]
        if hasattr(callee, "__name__")
        else ""
    )


def _spelt(callee: Any) -> str:
    owner = type(callee.__self__) if _draws(callee) else callee
    module = (
        "np"
        if isinstance(callee, np.ufunc)
        else "np.random"
        if owner.__module__.startswith("numpy.random.")
        else owner.__module__
    )
    return f"{module.replace('numpy', 'np')}.{callee.__name__}"


def _counterpart(name: str) -> str:
    if name in _RENAMED:
        return f"use {_RENAMED[name]}"
    return (
        f"use ti.{name}"
        if callable(getattr(fn, name, None))
        else "write it with operators and functions of ti"
    )


def _is_late(value: object) -> bool:
    """Return whether a value is known only at run time."""
    if isinstance(value, Matrix):
        return any(isinstance(entry, Expr) for entry in value.entries)
    if isinstance(value, list | tuple):
        return any(_is_late(item) for item in value)
    return isinstance(value, Expr) or array_ref(value) is not None
