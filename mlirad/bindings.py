"""Name the MLIR distribution: the one module that knows where the Python bindings come from."""
from importlib import import_module
from importlib.util import find_spec
from typing import Any

PROVIDER = "torch_mlir" if find_spec("torch_mlir") else "mlir"


def _load(name: str) -> Any:
    return import_module(f"{PROVIDER}.{name}")


ir = _load("ir")
ext = _load("dialects.ext")
PassManager = _load("passmanager").PassManager
ExecutionEngine = _load("execution_engine").ExecutionEngine
translate_module_to_llvmir = _load("dialects.llvm").translate_module_to_llvmir
