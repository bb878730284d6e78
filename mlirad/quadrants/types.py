"""`qd.types`: makers of argument and element types."""

from __future__ import annotations

from typing import Any

from mlirad.frontend.python.values.annotations import NdarrayType
from mlirad.frontend.python.values.annotations import Reference as ref
from mlirad.lang import types_namespace
from mlirad.lang.types_namespace import *  # noqa: F403
from mlirad.lang.types_namespace import Template
from mlirad.lang.types_namespace import ndarray as array_type
from mlirad.types import ALL

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


ndarray = NDArray  # type: ignore[assignment]
__all__ = [*types_namespace.__all__, "NDArray", "ref", "Template"]
