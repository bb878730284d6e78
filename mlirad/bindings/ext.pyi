"""How dialects are defined in Python: a class each for the dialect, its ops and its types."""

from collections.abc import Sequence
from typing import TypeAlias, TypeVar

from mlirad.bindings import ir

_TypeT = TypeVar("_TypeT", bound=ir.Type)

Operand: TypeAlias = ir.OpResult[_TypeT] | ir.BlockArgument[_TypeT]
Result: TypeAlias = ir.OpResult[_TypeT]
Region: TypeAlias = ir.Region

class Pure: ...

class Dialect:
    DIALECT_NAMESPACE: str

    class Operation(ir.OpView):
        OPERATION_NAME: str
        def __init_subclass__(
            cls, *, name: str | None = None, traits: Sequence[type] = ()
        ) -> None: ...

    class Type(ir.Type):
        type_name: str
        def __init_subclass__(cls, *, name: str) -> None: ...
        @classmethod
        def get(cls, *parameters: ir.Type | ir.Attribute) -> ir.Type: ...

    def __init_subclass__(cls, name: str) -> None: ...
    @classmethod
    def load(cls) -> None: ...
