"""The ops that a module may hold at each stage: those that the next stage's passes know."""

from __future__ import annotations

from collections.abc import Iterator

from mlirad.bindings import ir
from mlirad.ir.ops import Builtin, Memref, Ub
from mlirad.ir.walk import operations

_PLAIN = {"builtin", "func", "arith", "math", "scf"}
# of the frontend: for mem2reg, and the stacks of recursions
_VARIABLES = {Memref.ALLOCA, Memref.LOAD, Memref.STORE}
_TREES = {
    "snode.root",
    "snode.dense",
    "snode.pointer",
    "snode.bitmasked",
    "snode.dynamic",
    "snode.place",
}
_CUSTOM = {"grad.custom", "grad.yield", "grad.detach"}  # custom derivatives, and none
_SHARED: dict[str, set[str]] = {
    "field": _PLAIN | {"snode", "field", "grad.dual"} | _CUSTOM | _VARIABLES,
    "normal": _PLAIN | _TREES | {"field"} | _CUSTOM | _VARIABLES,
    "marked": _PLAIN | _TREES | {"field"} | _CUSTOM | _VARIABLES,
    "derived": _PLAIN | _TREES | {"field", "memref", "llvm"} | _CUSTOM,
}
_LOWERED = _PLAIN | {"memref", "llvm", Ub.POISON}  # mem2reg makes poison of what was never set
_GPU = {
    **_SHARED,
    "derived": _PLAIN | _TREES | {"field", "grad", "memref", "llvm"},
    "memref": _LOWERED | {"gpu"},
    "outlined": _LOWERED | {"gpu"},
}
_HOST = {Builtin.MODULE, Builtin.UNREALIZED_CONVERSION_CAST, "func", "arith", "memref"}
LEGAL: dict[str, dict[str, set[str]]] = {
    "cpu": {**_SHARED, "memref": _LOWERED | {"vector"}, "target": {Builtin.MODULE, "llvm"}},
    "simt": {**_GPU, "target": {Builtin.MODULE, "llvm"}},
    # the kernels are lowered, the host's function waits for their code
    "cuda": {**_GPU, "target": _HOST | {"gpu", "llvm", "nvvm"}},
    "rocm": {**_GPU, "target": _HOST | {"gpu", "llvm", "rocdl"}},
}


def illegal(module: ir.Operation, stage: str, target: str = "cpu") -> Iterator[ir.Operation]:
    """The operations of a module that a stage on the way to a target may not leave: neither they
    nor their dialects are in its list."""
    legal = LEGAL[target][stage]
    return (
        op
        for op in operations(module)
        if op.name not in legal and op.name.partition(".")[0] not in legal
    )
