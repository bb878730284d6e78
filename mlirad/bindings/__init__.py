"""Name the MLIR distribution: the one module that knows where the Python bindings come from."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

PROVIDER = "torch_mlir" if find_spec("torch_mlir") else "mlir"
# upstream's that passes of ours make ops of, and those that only programs for GPUs, or texts, have
DIALECTS = (
    *("func", "arith", "math", "scf", "cf", "memref", "affine", "vector", "index", "ub"),
    *("llvm", "irdl"),
)
OTHER_DIALECTS = ("omp", "gpu", "nvvm", "rocdl")
_LATER = {
    "ExecutionEngine": "execution_engine",
    "apply_named_sequence": "dialects.transform.interpreter",
    "translate_module_to_llvmir": "dialects.llvm",
}


def _load(name: str) -> Any:
    return import_module(f"{PROVIDER}.{name}")


def __getattr__(name: str) -> Any:
    """Import what takes a while to import when it is asked for."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = getattr(_load(_LATER[name]), name)
    return globals()[name]


def leave_out_classes(namespaces: tuple[str, ...]) -> None:
    """Have the bindings give the ops and types of some dialects as plain ones.

    They would import the dialect's classes when they first meet it, which takes up to 30 ms each
    and which nobody here asks for. Who imports a dialect himself has them.
    """
    for namespace in namespaces:
        name = f"{PROVIDER}.dialects.{namespace}"
        if name not in sys.modules:
            sys.modules[name] = ModuleType(name)
            ir._globals._check_dialect_module_loaded(namespace)
            del sys.modules[name]


try:
    ir = _load("ir")
    ext = _load("dialects.ext")
    PassManager = _load("passmanager").PassManager
    leave_out_classes(("builtin", *DIALECTS, *OTHER_DIALECTS))
    I1, I32, I64 = ir.IntegerType[1], ir.IntegerType[32], ir.IntegerType[64]
except (ImportError, AttributeError, TypeError) as error:
    from mlirad.bindings.missing import explanation

    raise ImportError(explanation(PROVIDER)) from error
