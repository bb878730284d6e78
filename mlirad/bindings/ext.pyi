"""How dialects are defined in Python: a class each for the dialect, its ops and its types."""

from collections.abc import Sequence
from enum import Enum
from types import ModuleType
from typing import TypeAlias, TypeVar

from mlirad.bindings import ir

_TypeT = TypeVar("_TypeT", bound=ir.Type)

Operand: TypeAlias = ir.OpResult[_TypeT] | ir.BlockArgument[_TypeT]
Result: TypeAlias = ir.OpResult[_TypeT]
Region: TypeAlias = ir.Region

irdl: ModuleType
_cext: ModuleType

class Pure: ...

class Variadicity(Enum):
    single = 0
    optional = 1
    variadic = 2

class FieldDef:
    name: str
    variadicity: Variadicity

class OperandDef(FieldDef): ...
class ResultDef(FieldDef): ...
class AttributeDef(FieldDef): ...
class RegionDef(FieldDef): ...

class Dialect:
    DIALECT_NAMESPACE: str
    operations: Sequence[type[Operation]]
    types: Sequence[type[Type]]

    class Type(ir.Type):
        type_name: str
        def __init_subclass__(cls, *, name: str) -> None: ...
        @classmethod
        def get(cls, *parameters: ir.Type | ir.Attribute) -> ir.Type: ...

    def __init_subclass__(cls, name: str) -> None: ...
    @classmethod
    def _emit_module(cls) -> ir.Module: ...

class Operation(ir.OpView):
    OPERATION_NAME: str
    Adaptor: type
    _fields: Sequence[FieldDef]
    _traits: Sequence[type]
    def __init_subclass__(
        cls,
        *,
        name: str | None = None,
        traits: Sequence[type] | None = None,
        dialect: type[Dialect] | None = None,
    ) -> None: ...
    @classmethod
    def _attach_traits(cls) -> None: ...
