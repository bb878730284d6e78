"""What a module may hold at each stage on the way to a CPU: what the next stage's passes know."""

from __future__ import annotations

from collections.abc import Iterator

from mlirad.bindings import ir
from mlirad.ir.walk import operations

_PLAIN = {"builtin", "func", "arith", "math", "scf"}
_VARIABLES = {"memref.alloca", "memref.load", "memref.store"}  # of the frontend, for mem2reg
_CUSTOM = {"grad.custom", "grad.yield"}  # functions with derivatives of their own

LEGAL: dict[str, set[str]] = {
    "field": _PLAIN | {"snode", "field", "grad.jvp"} | _CUSTOM | _VARIABLES,
    "normal": _PLAIN | {"snode", "field"} | _CUSTOM,
    "marked": _PLAIN | {"snode", "field"} | _CUSTOM,
    "derived": _PLAIN | {"snode", "field", "memref", "llvm"} | _CUSTOM,
    "memref": _PLAIN | {"memref", "llvm"},
    "target": {"builtin.module", "omp", "llvm"},
}


def illegal(module: ir.Operation, stage: str) -> Iterator[ir.Operation]:
    """The operations of a module that a stage may not leave: neither they nor their dialects are
    in its list."""
    legal = LEGAL[stage]
    return (
        op
        for op in operations(module)
        if op.name not in legal and op.name.partition(".")[0] not in legal
    )
