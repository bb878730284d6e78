"""Conversions of values to the types of calls and declarations."""

from __future__ import annotations

from typing import Any, cast

from mlirad.errors import TaichiSyntaxError
from mlirad.frontend.python.places.variables import cast_for_store
from mlirad.frontend.python.translation.translator import Translator
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.annotations import MatrixType
from mlirad.frontend.python.values.matrix import Matrix
from mlirad.frontend.python.values.struct import Struct
from mlirad.frontend.python.values.struct_type import StructType
from mlirad.types import u1


def convert_result(t: Translator, declared: Any, value: object, *, warns: bool = False) -> Any:
    """Convert a value to the declared type. Raises TaichiSyntaxError if its shape differs; warns,
    if it shall, where an integer loses a fraction."""
    if isinstance(declared, StructType):
        reason = declared.mismatch(value)
        if reason is not None:
            raise TaichiSyntaxError(f"expected a {declared} here: {reason}")
        return declared.cast(cast(Struct, value))
    if isinstance(declared, MatrixType):
        result = Matrix(value) if isinstance(value, list | tuple) else value
        if not isinstance(result, Matrix) or len(result.entries) != declared.n * declared.m:
            raise TaichiSyntaxError(
                f"the kernel is declared to return a {declared}, but returns a "
                f"{type(value).__name__}"
            )
        return result.cast(declared.scalar())
    if isinstance(declared, tuple):
        if not isinstance(value, tuple) or len(value) != len(declared):
            raise TaichiSyntaxError(f"the kernel is declared to return {len(declared)} values")
        return tuple(convert_result(t, d, v, warns=warns) for d, v in zip(declared, value))
    if not ex.is_scalar(value):
        is_class = isinstance(declared, type) and declared not in (int, float, bool)
        subject = (
            f"'-> {declared.__name__}' does not state what is returned"
            if is_class
            else f"the kernel is declared to return a scalar, but returns a {type(value).__name__}"
        )
        raise TaichiSyntaxError(f"{subject}{_type_instead(value)}")
    return (cast_for_store if warns else ex.cast)(value, t.resolve(declared))


def _type_instead(value: object) -> str:
    """Return a hint how to declare a result like a value."""
    if isinstance(value, list) and value and all(map(ex.is_scalar, value)):
        value = Matrix(value)
    if isinstance(value, Matrix):
        kind = "vector" if value.ndim == 1 else "matrix"
        sizes = ", ".join(map(str, value.shape))
        dtype = ex.dtype_of(value.entries[0])
        return f": write '-> ti.types.{kind}({sizes}, ti.{dtype})'"
    if isinstance(value, tuple) and all(map(ex.is_scalar, value)):
        types = ", ".join(f"ti.{ex.dtype_of(entry)}" for entry in value)
        return f": write '-> tuple[{types}]'"
    return ""


def convert(t: Translator, dtype: Any, arguments: list[Any]) -> Any:
    """`int(x)`, `ti.f32(x)` and the like."""
    if len(arguments) != 1:
        raise TaichiSyntaxError("A primitive type can only decorate a single expression.")
    target = u1 if dtype is bool else t.resolve(dtype)
    value = arguments[0]
    if isinstance(value, Matrix):
        return value.cast(target)
    if isinstance(value, str):
        return dtype(value)
    return ex.cast(value, target)
