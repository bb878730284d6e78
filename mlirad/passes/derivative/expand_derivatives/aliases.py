"""Memory that the arguments of a derivative may share."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.bindings import ir
from mlirad.dialect.snode import module_of
from mlirad.ir.ops import Func, Memref
from mlirad.ir.requirements import refuse, symbol_of
from mlirad.ir.walk import defining_op, is_function_argument, operations
from mlirad.passes.derivative.expand_derivatives.target import Target

_VIEWS = frozenset(
    (
        Memref.ASSUME_ALIGNMENT,
        Memref.CAST,
        Memref.COLLAPSE_SHAPE,
        Memref.EXPAND_SHAPE,
        Memref.MEMORY_SPACE_CAST,
        Memref.REINTERPRET_CAST,
        Memref.RESHAPE,
        Memref.SUBVIEW,
        Memref.TRANSPOSE,
    )
)
_NEW = frozenset((Memref.ALLOC, Memref.ALLOCA))


class Aliases:
    """Known relations between the memory of the operands of a call."""

    def __init__(self, call: ir.Operation, target: Target) -> None:
        self.call, self.target = call, target

    def require_apart(self, arguments: Sequence[ir.Value]) -> None:
        """Refuse two memrefs that may share memory, unless the function only reads both."""
        count = len(self.target.primal_type.inputs)
        memrefs = [k for k, v in enumerate(arguments) if isinstance(v.type, ir.MemRefType)]
        for position, second in enumerate(memrefs):
            for first in memrefs[:position]:
                is_read = second < count and not {first, second} & self.target.written
                if not is_read and may_share(arguments[first], arguments[second]):
                    refuse(
                        self.call,
                        f"arguments {first} and {second} may share memory: a derivative of "
                        f"@{symbol_of(self.target.primal)} treats them as different memory",
                    )


def may_share(first: ir.Value, second: ir.Value, around: Sequence[str] = ()) -> bool:
    """Return whether two memrefs of a function may be the same memory. Arguments are different
    memory as far as they come from outside of the module; other calls are looked at."""
    first, second = _root(first), _root(second)
    if not (_is_known(first) and _is_known(second)):
        return True
    if not is_function_argument(first) and not is_function_argument(second):
        return first == second or _global(first) == _global(second) is not None
    if any(map(_is_new, (first, second))):
        return False
    argument = first if is_function_argument(first) else second
    function = ir.BlockArgument(argument).owner.owner.operation
    name = symbol_of(function)
    return first == second or (
        name not in around
        and any(
            may_share(_passed(first, call), _passed(second, call), (*around, name))
            for call in _calls_of(function)
        )
    )


def _passed(value: ir.Value, call: ir.Operation) -> ir.Value:
    """Return what a call passes for an argument of the function; another value is itself."""
    if not is_function_argument(value):
        return value
    return call.operands[ir.BlockArgument(value).arg_number]


def _root(value: ir.Value) -> ir.Value:
    """Return the memref that others are views of."""
    op = defining_op(value)
    while op is not None and op.name in _VIEWS:
        value = op.operands[0]
        op = defining_op(value)
    return value


def _is_new(value: ir.Value) -> bool:
    op = defining_op(value)
    return op is not None and op.name in _NEW


def _global(value: ir.Value) -> ir.Attribute | None:
    """Return the name of the constant that a memref is."""
    op = defining_op(value)
    is_constant = op is not None and op.name == Memref.GET_GLOBAL
    return op.attributes["name"] if op is not None and is_constant else None


def _is_known(value: ir.Value) -> bool:
    """Return whether it is known what memory a memref is."""
    return is_function_argument(value) or _is_new(value) or _global(value) is not None


def _calls_of(function: ir.Operation) -> list[ir.Operation]:
    """Return the calls of a function in its module."""
    callee = ir.FlatSymbolRefAttr.get(symbol_of(function), function.context)
    return [
        op
        for op in operations(module_of(function))
        if op.name == Func.CALL and op.attributes["callee"] == callee
    ]
