"""Values of kernels as trees: scalars, vectors and matrices, structs, and tuples of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod
from typing import Any

from mlirad.errors import TaichiTypeError
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.matrix import Matrix
from mlirad.frontend.python.values.scalar import Expr, Scalar
from mlirad.frontend.python.values.struct import Struct, members_of, methods_of, struct_of
from mlirad.kernel.form import Form, MatrixForm, ScalarForm, StructForm, TupleForm
from mlirad.types import DataType


def scalars_of(value: object, what: str) -> list[Scalar]:
    """The scalars of a value, in order. Raises TaichiTypeError, which begins with `what`, where it
    holds others."""
    if isinstance(value, Matrix):
        return list(value.entries)
    if isinstance(value, Struct):
        return [leaf for part in members_of(value).values() for leaf in scalars_of(part, what)]
    if isinstance(value, tuple):
        return [leaf for part in value for leaf in scalars_of(part, what)]
    if not ex.is_scalar(value):
        raise TaichiTypeError(
            f"{what} is {kind_of(value)}: it can be made of scalars, vectors, matrices and structs"
        )
    return [value]


def leaves(value: object, what: str) -> list[Expr]:
    """The same, as operands."""
    return [ex.expression(scalar) for scalar in scalars_of(value, what)]


def float_leaves(value: object, what: str) -> list[Expr]:
    """The scalars of a value, all of them floats. Raises TaichiTypeError where one is not."""
    found = leaves(value, what)
    for leaf in found:
        if not leaf.dtype.is_float:
            raise TaichiTypeError(f"{what} is of type {leaf.dtype}: only floats have derivatives")
    return found


def form_of(value: object) -> Form:
    """How scalars make up a value."""
    if isinstance(value, Matrix):
        return MatrixForm(value.shape)
    if isinstance(value, Struct):
        members = [(name, form_of(part)) for name, part in members_of(value).items()]
        return StructForm(tuple(members), methods_of(value))
    if isinstance(value, tuple):
        return TupleForm(tuple([form_of(part) for part in value]))
    return ScalarForm()


def like(value: object, scalars: Iterable[Scalar]) -> Any:
    """A value of the structure of another, with other scalars."""
    return built(form_of(value), iter(scalars))


def built(form: Form, scalars: Iterator[Scalar]) -> Any:
    """A value of some scalars."""
    if isinstance(form, MatrixForm):
        return Matrix.of_shape(form.shape, [next(scalars) for _ in range(prod(form.shape))])
    if isinstance(form, StructForm):
        members = {name: built(part, scalars) for name, part in form.members}
        return struct_of(members, form.methods)
    if isinstance(form, TupleForm):
        return tuple([built(part, scalars) for part in form.parts])
    return next(scalars)


def kind_of(value: object) -> str:
    """What a value is, for messages; equal for values of one structure."""
    if isinstance(value, Matrix):
        return f"a {'vector' if value.ndim == 1 else 'matrix'} of shape {value.shape}"
    if isinstance(value, Struct):
        members = [f"{name}: {kind_of(part)}" for name, part in members_of(value).items()]
        return f"a struct of {', '.join(members)}"
    if isinstance(value, tuple):
        return f"a tuple of {', '.join(kind_of(part) for part in value)}"
    if value is None:
        return "nothing"
    return "a scalar" if ex.is_scalar(value) else f"a {type(value).__name__}"


def widest(dtypes: Iterable[DataType]) -> DataType:
    """The one of some float types that holds all numbers of the others."""
    return max(dtypes, key=lambda dtype: dtype.bits)
