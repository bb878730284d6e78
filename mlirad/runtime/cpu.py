"""Compile a lowered module for this machine's CPU, and call it."""
from __future__ import annotations

import ctypes
import ctypes.util
import sysconfig
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from mlirad.bindings import ExecutionEngine, ir
from mlirad.errors import TaichiRuntimeError

_CTYPES = {"f64": ctypes.c_double, "f32": ctypes.c_float, "i64": ctypes.c_int64, "i32": ctypes.c_int32,
           "i16": ctypes.c_int16, "i8": ctypes.c_int8, "i1": ctypes.c_bool, "index": ctypes.c_int64,
           "f16": ctypes.c_uint16, "!llvm.ptr": ctypes.c_void_p}


@dataclass(frozen=True)
class Parameter:
    """A parameter of a lowered kernel: a value of the launch, a field's pointer, or the pointer for results."""

    type: str
    symbol: str | None = None
    is_results: bool = False


def parameters_of(module: ir.Module, name: str) -> list[Parameter]:
    """The parameters of a function of a module behind `lower-field-to-memref`."""
    for op in module.body.operations:
        if op.operation.name == "func.func" and ir.StringAttr(op.attributes["sym_name"]).value == name:
            break
    else:
        raise KeyError(name)
    types = ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value).inputs
    if "arg_attrs" not in op.attributes:
        return [Parameter(str(t)) for t in types]
    found = []
    for type_, attributes in zip(types, ir.ArrayAttr(op.attributes["arg_attrs"])):
        given = ir.DictAttr(attributes)
        symbol = ir.FlatSymbolRefAttr(given["field.symbol"]).value if "field.symbol" in given else None
        found.append(Parameter(str(type_), symbol, "field.results" in given))
    return found


@cache
def openmp_library() -> str:
    """The path of an OpenMP runtime. Raises TaichiRuntimeError where there is none."""
    for folder in (Path(sysconfig.get_path("data")) / "lib", Path(sysconfig.get_path("platlib")).parents[2] / "lib"):
        for name in ("libiomp5.so", "libomp.so"):
            if (folder / name).exists():
                return str(folder / name)
    for library in ("iomp5", "omp", "omp5"):
        found = ctypes.util.find_library(library)
        if found:
            return found
    raise TaichiRuntimeError("no OpenMP runtime found: install 'intel-openmp', or use ti.init(cpu_max_num_threads=1)")


class CompiledKernel:
    """Machine code of one kernel, with its packed arguments laid out once."""

    def __init__(self, module: ir.Module, name: str, parameters: Sequence[Parameter],
                 address_of: Callable[[str], int], *, result_count: int = 0, opt_level: int = 3,
                 parallel: bool = True) -> None:
        libraries = [openmp_library()] if parallel else []
        self.engine = ExecutionEngine(module, opt_level=opt_level, shared_libs=libraries)
        self.function: Callable[[Any], None] = self.engine.lookup(name)
        self.values: list[Any] = []
        self.results: Any = None
        self.owners: list[Any] = []
        self.packed = (ctypes.c_void_p * max(1, len(parameters)))()
        for position, parameter in enumerate(parameters):
            slot: Any = _CTYPES[parameter.type]()
            if parameter.symbol is not None:
                slot.value = address_of(parameter.symbol)
            elif parameter.is_results:
                self.results = (ctypes.c_int64 * max(1, result_count))()
                slot.value = ctypes.addressof(self.results)
            else:
                self.values.append(slot)
            self.owners.append(slot)
            self.packed[position] = ctypes.addressof(slot)

    def launch(self, values: Sequence[Any]) -> None:
        """Run with the values of this launch, in the order of the kernel's parameters."""
        for slot, value in zip(self.values, values):
            slot.value = value
        self.function(self.packed)
