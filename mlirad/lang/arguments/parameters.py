"""The parameters of kernels: what is part of the compiled kernel, and what is passed to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from enum import Enum
from functools import cached_property
from typing import Any

import msgspec
import numpy as np

from mlirad.errors import TaichiSyntaxError
from mlirad.frontend.python.values.annotations import (
    FieldOrArray,
    MatrixType,
    NdarrayType,
    Template,
    declared_type,
    is_template,
)
from mlirad.frontend.python.values.struct_type import StructType
from mlirad.lang.arguments.packs import pack_type
from mlirad.lang.host.array_protocols import AsArray
from mlirad.types import DataType, from_numpy

_TENSORS = (("torch", "Tensor"), ("jax", "Array"))


class ParameterKind(Enum):
    """The way in which an argument reaches a kernel: as numbers, as memory, or as part of its
    code."""

    SCALAR = "scalar"
    COMPOSITE = "vector, matrix or struct"
    NDARRAY = "ndarray"
    TEMPLATE = "template"
    PACK = "pack"
    EITHER = "field or array"


SCALAR, COMPOSITE, NDARRAY, TEMPLATE, PACK, EITHER = ParameterKind


class Parameter(msgspec.Struct, frozen=True, dict=True):
    """A declared parameter of a kernel."""

    name: str
    kind: ParameterKind
    annotation: Any

    @cached_property
    def decides(self) -> bool:
        """Return whether the argument decides which compiled kernel is used."""
        return self.kind in (NDARRAY, TEMPLATE)


def parameter(name: str, annotation: object, kernel: str) -> Parameter:
    """Classify a parameter by its annotation. Raises TaichiSyntaxError for one that says
    nothing."""
    annotation = declared_type(annotation)
    if (pack := pack_type(annotation)) is not None:
        return Parameter(name, PACK, pack)
    if isinstance(annotation, FieldOrArray):
        return Parameter(name, EITHER, annotation)
    if is_template(annotation):
        return Parameter(name, TEMPLATE, annotation)
    if isinstance(annotation, NdarrayType) or annotation is NdarrayType:
        declared = NdarrayType() if annotation is NdarrayType else annotation
        return Parameter(name, NDARRAY, declared)
    if isinstance(annotation, MatrixType | StructType):
        return Parameter(name, COMPOSITE, annotation)
    if isinstance(annotation, DataType) or annotation in (int, float, bool):
        return Parameter(name, SCALAR, annotation)
    if annotation is None:
        raise TaichiSyntaxError(
            f"Taichi kernels parameters must be type annotated: parameter '{name}' of '{kernel}'"
        )
    raise TaichiSyntaxError(
        f"Invalid type annotation (argument {name}) of kernel '{kernel}': "
        f"{annotation!r}{_type_instead(annotation)}"
    )


def _type_instead(annotation: object) -> str:
    """Return a hint for the types of other libraries, which kernels spell otherwise."""
    module = str(getattr(annotation, "__module__", "")).partition(".")[0]
    if annotation is np.ndarray or (module, getattr(annotation, "__name__", "")) in _TENSORS:
        return ": an array is an argument of type ti.types.ndarray()"
    if isinstance(annotation, type) and issubclass(annotation, np.generic):
        with suppress(TypeError):  # a type without a counterpart
            return f": write ti.{from_numpy(annotation)}"
    if annotation in (list, tuple, dict, str):
        return ": ti.template() takes Python objects, as constants of the compiled kernel"
    if str(getattr(annotation, "__module__", "")).startswith("mlirad.lang.field"):
        return ": a field is an argument of type ti.template()"
    return ""


def chosen(parameters: Sequence[Parameter], arguments: Sequence[Any]) -> Sequence[Parameter]:
    """Return the parameters for some arguments: one that takes a field or an array takes what is
    passed to it."""
    if all(param.kind != EITHER for param in parameters):
        return parameters
    return [
        _chosen(param, value) if param.kind == EITHER else param
        for param, value in zip(parameters, arguments)
    ]


def _chosen(param: Parameter, value: object) -> Parameter:
    is_field = isinstance(value, AsArray) and not getattr(type(value), "is_passed", False)
    if value is None or is_field:  # a kernel may ask whether it is None
        return Parameter(param.name, TEMPLATE, Template())
    return Parameter(param.name, NDARRAY, NdarrayType())


def flatten_packs(parameters: Iterable[Parameter], kernel: str) -> Iterator[Parameter]:
    """Parameters, with those of a pack in its place: `pack.member`."""
    for param in parameters:
        if param.kind != PACK:
            yield param
            continue
        members = param.annotation.members.items()
        inner = [parameter(f"{param.name}.{name}", kind, kernel) for name, kind in members]
        yield from flatten_packs(inner, kernel)
