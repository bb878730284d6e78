"""The parameters of kernels: what is part of the compiled kernel, and what is passed to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from functools import cached_property
from typing import Any

import msgspec

from mlirad.errors import TaichiSyntaxError
from mlirad.frontend.python.values.annotations import MatrixType, NdarrayType, is_template
from mlirad.frontend.python.values.struct_type import StructType
from mlirad.lang.arguments.packs import ArgPackType
from mlirad.types import DataType


class ParameterKind(Enum):
    """How an argument reaches a kernel: as numbers, as memory, or as part of its code."""

    SCALAR = "scalar"
    COMPOSITE = "vector, matrix or struct"
    NDARRAY = "ndarray"
    TEMPLATE = "template"
    PACK = "pack"


SCALAR, COMPOSITE, NDARRAY, TEMPLATE, PACK = ParameterKind


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
    if is_template(annotation):
        return Parameter(name, TEMPLATE, annotation)
    if isinstance(annotation, NdarrayType) or annotation is NdarrayType:
        declared = NdarrayType() if annotation is NdarrayType else annotation
        return Parameter(name, NDARRAY, declared)
    if isinstance(annotation, MatrixType | StructType):
        return Parameter(name, COMPOSITE, annotation)
    if isinstance(annotation, ArgPackType):
        return Parameter(name, PACK, annotation)
    if isinstance(annotation, DataType) or annotation in (int, float, bool):
        return Parameter(name, SCALAR, annotation)
    if annotation is None:
        raise TaichiSyntaxError(
            f"Taichi kernels parameters must be type annotated: parameter '{name}' of '{kernel}'"
        )
    raise TaichiSyntaxError(
        f"Invalid type annotation (argument {name}) of kernel '{kernel}': {annotation!r}"
    )


def flatten_packs(parameters: Iterable[Parameter], kernel: str) -> Iterator[Parameter]:
    """Parameters, with those of a pack in its place: `pack.member`."""
    for param in parameters:
        if param.kind != PACK:
            yield param
            continue
        members = param.annotation.members.items()
        inner = [parameter(f"{param.name}.{name}", kind, kernel) for name, kind in members]
        yield from flatten_packs(inner, kernel)
