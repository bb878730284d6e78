"""Name the MLIR distribution: the one module that knows where the Python bindings come from."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

PROVIDER = "torch_mlir" if find_spec("torch_mlir") else "mlir"
_LATER = {"ExecutionEngine": "execution_engine", "translate_module_to_llvmir": "dialects.llvm"}


def _load(name: str) -> Any:
    return import_module(f"{PROVIDER}.{name}")


def __getattr__(name: str) -> Any:
    """Import what takes a while to import when it is asked for."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = getattr(_load(_LATER[name]), name)
    return globals()[name]


ir = _load("ir")
ext = _load("dialects.ext")
PassManager = _load("passmanager").PassManager
I1, I64 = ir.IntegerType[1], ir.IntegerType[64]
