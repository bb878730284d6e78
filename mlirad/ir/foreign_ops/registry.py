"""The rules and lowerings that programs have registered, by the names of ops.

They belong to the process, as its one context of MLIR does: every thread sees them, and a forked
process begins with them.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import TypeVar

from mlirad.bindings import ir
from mlirad.dialect.turn import in_turn
from mlirad.errors import SourceLocation, TaichiCompilationError
from mlirad.ir.foreign_ops.code import Lowering, Rule
from mlirad.ir.ops import Bufferization

Entry = TypeVar("Entry", Rule, Lowering)

FOREIGN_RULES: dict[str, Rule] = {}
LOWERINGS: dict[str, Lowering] = {}
# dialects whose ops mlirad knows, or refuses
_OURS = {
    *("affine", "arith", Bufferization.NAME, "builtin", "cf", "complex", "field", "func", "grad"),
    *("linalg", "llvm", "math", "memref", "scf", "snode", "te", "tensor", "ub", "vector"),
}


@in_turn
def register_rule(name: str, rule: Rule, *, replace: bool = False) -> None:
    """Give an op a derivative. Raises TaichiCompilationError if it has one."""
    _register(FOREIGN_RULES, name, rule, "derivative", replace)


@in_turn
def register_lowering(name: str, lowering: Lowering, *, replace: bool = False) -> None:
    """Give an op what computes it. Raises TaichiCompilationError if it has it already."""
    _register(LOWERINGS, name, lowering, "lowering", replace)


def _register(table: dict[str, Entry], name: str, entry: Entry, kind: str, replace: bool) -> None:
    dialect, dot, op = name.partition(".")
    if not (dialect and dot and op):
        raise TaichiCompilationError(f"'{name}' names no op, expected dialect.op", entry.place)
    if dialect in _OURS:
        raise TaichiCompilationError(
            f"a {kind} of '{name}': the ops of '{dialect}' are mlirad's to differentiate",
            entry.place,
        )
    if name in table and not replace:
        raise TaichiCompilationError(
            f"'{name}' has a {kind} already; replace=True takes its place",
            entry.place,
            [(table[name].place, "the first one")],
        )
    table[name] = entry


def is_registered(name: str) -> bool:
    """Return whether an op has a rule or a lowering."""
    return name in FOREIGN_RULES or name in LOWERINGS


def require_ops(context: ir.Context, *, all_dialects: bool = False) -> None:
    """Raise TaichiCompilationError if a rule or a lowering is of an op that its dialect does not
    have. Dialects that are not loaded yet do not count, unless `all_dialects` do."""
    if context.allow_unregistered_dialects:
        return
    for name, place in _places():
        dialect = name.partition(".")[0]
        if not has_dialect(context, dialect):
            if all_dialects:
                raise TaichiCompilationError(f"'{name}': there is no dialect '{dialect}'", place)
        elif not context.is_registered_operation(name):
            near = get_close_matches(name, _ops_of(dialect), 1)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise TaichiCompilationError(f"there is no op '{name}'{hint}", place)


def _places() -> Iterator[tuple[str, SourceLocation]]:
    yield from ((name, rule.place) for name, rule in FOREIGN_RULES.items())
    yield from ((name, lowering.place) for name, lowering in LOWERINGS.items())


def has_dialect(context: ir.Context, name: str) -> bool:
    """Return whether a context has a dialect, which is then loaded."""
    try:
        context.get_dialect_descriptor(name)
    except ValueError:
        return False
    return True


_ops: dict[str, list[str]] = {}  # those that texts in IRDL have defined


def note_ops(dialect: str, names: list[str]) -> None:
    """Note the ops of a dialect that a text in IRDL defines."""
    _ops[dialect] = [f"{dialect}.{name}" for name in names]


def is_of_text(name: str) -> bool:
    """Return whether an op is of a dialect that a text in IRDL defines."""
    return name.partition(".")[0] in _ops


def _ops_of(dialect: str) -> list[str]:
    return _ops.get(dialect, [])
