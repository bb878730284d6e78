"""Memory that a pointer or an array may point into."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from mlirad.bindings import ir
from mlirad.ir.ops import Arith, Builtin, Llvm, Memref
from mlirad.ir.walk import defining_op, is_function_argument

# Ops whose results point where their operands do; what they compute otherwise points nowhere.
_VIEWS = (
    Arith.SELECT,
    Builtin.UNREALIZED_CONVERSION_CAST,
    Llvm.EXTRACTVALUE,
    Llvm.GETELEMENTPTR,
    Llvm.INSERTVALUE,
    Llvm.SELECT,
    Memref.CAST,
    Memref.COLLAPSE_SHAPE,
    Memref.EXPAND_SHAPE,
    Memref.EXTRACT_STRIDED_METADATA,
    Memref.MEMORY_SPACE_CAST,
    Memref.REINTERPRET_CAST,
    Memref.SUBVIEW,
    Memref.VIEW,
)
_OWN = (Llvm.ALLOCA, Memref.ALLOC, Memref.ALLOCA, Memref.GET_GLOBAL, Llvm.MLIR_ADDRESSOF)
_NOWHERE = (Llvm.MLIR_POISON, Llvm.MLIR_UNDEF, Llvm.MLIR_ZERO)
_KINDS = ("!llvm.ptr", "!llvm.struct", "memref<")  # the last: of unknown rank


def is_view(op: ir.Operation) -> bool:
    """Return whether the results of an op point where its operands do."""
    return op.name in _VIEWS


@lru_cache(maxsize=64)
def _points(type_: ir.Type) -> bool:
    """Return whether values of a type may say where memory is."""
    return isinstance(type_, ir.MemRefType) or str(type_).startswith(_KINDS)


class Origins:
    """The parameters, allocations and globals that values may point into, as the function around
    them shows it when a value is first asked for. Addresses that it loads point into none of these:
    what is said of its parameters is said there, too."""

    def __init__(self) -> None:
        self._found: dict[ir.Value, frozenset[ir.Value] | None] = {}

    def targets_of(self, value: ir.Value) -> frozenset[ir.Value] | None:
        """Return the memory that a value may point into; None if it is not known."""
        if value not in self._found:
            self._found[value] = _follow(value) if _points(value.type) else frozenset()
        return self._found[value]

    def stands_for(self, new: ir.Value, old: ir.Value) -> None:
        """Note that a value has been taken from memory that another was put into."""
        self._found[new] = self.targets_of(old)

    def are_alone(self, values: Sequence[ir.Value], beside: Sequence[ir.Value] = ()) -> list[bool]:
        """Return for each value that a function is handed whether no other, nor one of `beside`,
        leads to where it points."""
        ways = [self.targets_of(value) for value in (*values, *beside)]
        return [
            not any(way is None or value in way for way in [*ways[:at], *ways[at + 1 :]])
            for at, value in enumerate(values)
        ]


def _follow(value: ir.Value) -> frozenset[ir.Value] | None:
    origins, pending, seen = set[ir.Value](), [value], set[ir.Value]()
    while pending:
        one = pending.pop()
        if one in seen or not _points(one.type):
            continue
        seen.add(one)
        op = defining_op(one)
        if op is None:
            if not is_function_argument(one):
                return None  # what a loop carries
            origins.add(one)
        elif op.name in _OWN:
            origins.add(one)
        elif op.name in _VIEWS:
            pending += op.operands
        elif op.name not in _NOWHERE and op.name != Llvm.LOAD:
            return None
    return frozenset(origins)
