"""Values of kernels as trees: scalars, vectors and matrices, and tuples of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from mlirad.errors import TaichiTypeError
from mlirad.frontend.python import scalar as ex
from mlirad.frontend.python.matrix import Matrix
from mlirad.frontend.python.scalar import Expr, Scalar
from mlirad.types import DataType


def leaves(value: object, what: str) -> list[Expr]:
    """The scalars of a value, in order. Raises TaichiTypeError, which begins with `what`, where it
    holds others."""
    if isinstance(value, Matrix):
        return [ex.expression(entry) for entry in value.entries]
    if isinstance(value, tuple):
        return [leaf for part in value for leaf in leaves(part, what)]
    if not ex.is_scalar(value):
        raise TaichiTypeError(
            f"{what} is {kind_of(value)}: scalars, vectors and matrices have derivatives"
        )
    return [ex.expression(value)]


def float_leaves(value: object, what: str) -> list[Expr]:
    """The scalars of a value, all of them floats. Raises TaichiTypeError where one is not."""
    found = leaves(value, what)
    for leaf in found:
        if not leaf.dtype.is_float:
            raise TaichiTypeError(f"{what} is of type {leaf.dtype}: only floats have derivatives")
    return found


def like(value: object, scalars: Iterable[Scalar]) -> Any:
    """A value of the structure of another, with other scalars."""
    return _built(value, iter(scalars))


def _built(value: object, scalars: Iterator[Scalar]) -> Any:
    if isinstance(value, Matrix):
        return value.like([next(scalars) for _ in value.entries])
    if isinstance(value, tuple):
        return tuple([_built(part, scalars) for part in value])
    return next(scalars)


def kind_of(value: object) -> str:
    """What a value is, for messages; equal for values of one structure."""
    if isinstance(value, Matrix):
        return f"a {'vector' if value.ndim == 1 else 'matrix'} of shape {value.shape}"
    if isinstance(value, tuple):
        return f"a tuple of {', '.join(kind_of(part) for part in value)}"
    if value is None:
        return "nothing"
    return "a scalar" if ex.is_scalar(value) else f"a {type(value).__name__}"


def widest(dtypes: Iterable[DataType]) -> DataType:
    """The one of some float types that holds all numbers of the others."""
    return max(dtypes, key=lambda dtype: dtype.bits)
