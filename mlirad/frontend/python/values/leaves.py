"""Values of kernels as trees: scalars, vectors and matrices, structs, and tuples of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod
from typing import Any

from mlirad.dialect.grad import detach
from mlirad.errors import TaichiTypeError
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.matrix import Matrix
from mlirad.frontend.python.values.scalar import Expr, Scalar
from mlirad.frontend.python.values.struct import Struct, members_of, methods_of, struct_of
from mlirad.kernel.form import Form, MatrixForm, ScalarForm, StructForm, TupleForm
from mlirad.types import DataType


def scalars_of(value: object, subject: str) -> list[Scalar]:
    """The scalars of a value, in order. Raises TaichiTypeError, which begins with `subject`, if
    it holds other objects."""
    if isinstance(value, Matrix):
        return list(value.entries)
    if isinstance(value, Struct):
        return [
            leaf for member in members_of(value).values() for leaf in scalars_of(member, subject)
        ]
    if isinstance(value, tuple):
        return [leaf for member in value for leaf in scalars_of(member, subject)]
    if not ex.is_scalar(value):
        raise TaichiTypeError(
            f"{subject} is {kind_of(value)}, expected scalars, vectors, matrices and structs"
        )
    return [value]


def leaves(value: object, subject: str) -> list[Expr]:
    """The scalars of a value, in order, as operands. Raises like `scalars_of`."""
    return [ex.expression(scalar) for scalar in scalars_of(value, subject)]


def float_leaves(value: object, subject: str) -> list[Expr]:
    """The scalars of a value, all of them floats. Raises TaichiTypeError if one is not."""
    scalars = leaves(value, subject)
    for leaf in scalars:
        if not leaf.dtype.is_float:
            raise TaichiTypeError(
                f"{subject} is of type {leaf.dtype}: only floats have derivatives"
            )
    return scalars


def form_of(value: object) -> Form:
    """The structure of a value, without its scalars."""
    if isinstance(value, Matrix):
        return MatrixForm(value.shape)
    if isinstance(value, Struct):
        members = [(name, form_of(member)) for name, member in members_of(value).items()]
        return StructForm(tuple(members), methods_of(value))
    if isinstance(value, tuple):
        return TupleForm(tuple([form_of(member) for member in value]))
    return ScalarForm()


def like(value: object, scalars: Iterable[Scalar]) -> Any:
    """A value of the structure of another, with other scalars."""
    return build_value(form_of(value), iter(scalars))


def without_derivative(value: object, subject: str) -> Any:
    """Return a value through which no derivative passes. Raises like `scalars_of`."""
    if isinstance(value, list):
        value = Matrix(value)
    scalars = [
        Expr(detach(leaf.value), leaf.dtype)
        if isinstance(leaf, Expr) and leaf.dtype.is_float
        else leaf
        for leaf in scalars_of(value, subject)
    ]
    return like(value, scalars)


def build_value(form: Form, scalars: Iterator[Scalar]) -> Any:
    """A value of a structure from its scalars."""
    if isinstance(form, MatrixForm):
        return Matrix.of_shape(form.shape, [next(scalars) for _ in range(prod(form.shape))])
    if isinstance(form, StructForm):
        members = {name: build_value(member, scalars) for name, member in form.members}
        return struct_of(members, form.methods)
    if isinstance(form, TupleForm):
        return tuple([build_value(member, scalars) for member in form.parts])
    return next(scalars)


def kind_of(value: object) -> str:
    """A description of a value for messages, equal for values of one structure."""
    if isinstance(value, Matrix):
        return f"a {'vector' if value.ndim == 1 else 'matrix'} of shape {value.shape}"
    if isinstance(value, Struct):
        members = [f"{name}: {kind_of(member)}" for name, member in members_of(value).items()]
        return f"a struct of {', '.join(members)}"
    if isinstance(value, tuple):
        return f"a tuple of {', '.join(kind_of(member) for member in value)}"
    if value is None:
        return "nothing"
    return "a scalar" if ex.is_scalar(value) else f"a {type(value).__name__}"


def widest(dtypes: Iterable[DataType]) -> DataType:
    """The widest of some float types."""
    return max(dtypes, key=lambda dtype: dtype.bits)
