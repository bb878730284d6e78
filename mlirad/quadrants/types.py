"""`qd.types`: makers of argument and element types."""

from __future__ import annotations

from typing import Any, NoReturn

from mlirad.errors import TaichiSyntaxError
from mlirad.frontend.python.values.annotations import MatrixType, NdarrayType
from mlirad.frontend.python.values.annotations import Reference as ref
from mlirad.lang import types_namespace
from mlirad.lang.types_namespace import *  # noqa: F403
from mlirad.lang.types_namespace import Template
from mlirad.lang.types_namespace import ndarray as array_type
from mlirad.types import ALL, TypeLike

_LONG = {"f": "float", "i": "int", "u": "uint"}
globals().update({f"{_LONG[t.name[0]]}{t.name[1:]}": t for t in ALL})


class _ArrayMaker(type):
    """A class whose calls and indexing give types of array arguments."""

    def __call__(cls, *args: Any, **kwargs: Any) -> NdarrayType:
        return array_type(*args, **kwargs)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, NdarrayType)

    def __getitem__(cls, parameters: Any) -> NdarrayType:
        return array_type(*(parameters if isinstance(parameters, tuple) else (parameters,)))


class NDArray(metaclass=_ArrayMaker):
    """`NDArray[dtype, ndim]`: the type of array arguments, `qd.types.ndarray(dtype, ndim)`."""

    __parameter_type__ = NdarrayType()


class UnpackedVector(MatrixType):
    """The type of a dataclass's member that is a vector whose entries are locals of their own, as
    those of all local vectors are here: the member is a plain vector."""

    def as_member(self) -> MatrixType:
        return types_namespace.vector(self.n, self.dtype)

    def __call__(self, *_arguments: object, **_options: object) -> NoReturn:
        raise TaichiSyntaxError(
            "qd.types.vector(unpacked=True) is only for members of a @qd.dataclass: it cannot "
            "create a vector, a field or an ndarray"
        )

    field = ndarray = __call__


def vector(  # type: ignore[no-redef]
    n: int | None = None, dtype: TypeLike | None = None, unpacked: bool = False
) -> MatrixType:
    """The type of vectors of n entries, as `ti.types.vector` makes it; `unpacked` ones are of
    members of dataclasses."""
    plain = types_namespace.vector(n, dtype)
    return UnpackedVector(plain.n, None, dtype, 1) if unpacked else plain


ndarray = NDArray  # type: ignore[assignment]
__all__ = [*types_namespace.__all__, "NDArray", "ref", "Template"]
