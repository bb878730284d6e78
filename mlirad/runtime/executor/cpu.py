"""Compile a lowered module for this machine's CPU, and call it."""

from __future__ import annotations

import ctypes
import ctypes.util
import platform
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from struct import Struct
from typing import Any

from mlirad.bindings import ExecutionEngine, ir
from mlirad.errors import TaichiAssertionError, TaichiRuntimeError
from mlirad.passes.checks.insert_access_checks import CHECK
from mlirad.passes.memory.lower_field_assert import RECORD, RECORD_SIZE
from mlirad.pipeline.mode import Mode
from mlirad.pipeline.stages.cpu import cpu_stages
from mlirad.pipeline.stages.stage import Stage
from mlirad.runtime.config import Config
from mlirad.runtime.executor.executor import Code, Executor, Located, Lowered, Parameter
from mlirad.runtime.failures import raise_recorded
from mlirad.runtime.memory.host import HostMemory
from mlirad.types import DataType

_CTYPES = {
    "f64": ctypes.c_double,
    "f32": ctypes.c_float,
    "i64": ctypes.c_int64,
    "i32": ctypes.c_int32,
    "i16": ctypes.c_int16,
    "i8": ctypes.c_int8,
    "i1": ctypes.c_bool,
    "index": ctypes.c_int64,
    "f16": ctypes.c_uint16,
    "!llvm.ptr": ctypes.c_void_p,
}
_WORDS = {
    "f64": "d",
    "f32": "f4x",
    "f16": "e6x",
    "u1": "?7x",
    "i8": "b7x",
    "i16": "h6x",
    "i32": "i4x",
    "i64": "q",
    "u8": "B7x",
    "u16": "H6x",
    "u32": "I4x",
    "u64": "Q",
}  # results, of 8 bytes each


@cache
def has_fused_multiply_add() -> bool:
    """Whether this machine rounds `a * b + c` once by an instruction; else each would be a call."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return True
    flags = next(
        (
            line
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("flags")
        ),
        "",
    )
    return "fma" in flags.split()


def parameters_of(module: ir.Module, name: str) -> list[Parameter]:
    """The parameters of a function of a module behind `lower-field-to-memref`."""
    for op in module.body.operations:
        if (
            op.operation.name == "func.func"
            and ir.StringAttr(op.attributes["sym_name"]).value == name
        ):
            break
    else:
        raise KeyError(name)
    types = ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value).inputs
    if "arg_attrs" not in op.attributes:
        return [Parameter(str(t)) for t in types]
    found = []
    for type_, attributes in zip(types, ir.ArrayAttr(op.attributes["arg_attrs"])):
        given = ir.DictAttr(attributes)
        symbol = (
            ir.FlatSymbolRefAttr(given["field.symbol"]).value if "field.symbol" in given else None
        )
        found.append(Parameter(str(type_), symbol, "field.results" in given))
    return found


@cache
def openmp_library() -> str:
    """The path of an OpenMP runtime. Raises TaichiRuntimeError where there is none."""
    for folder in (
        Path(sysconfig.get_path("data")) / "lib",
        Path(sysconfig.get_path("platlib")).parents[2] / "lib",
    ):
        for name in ("libiomp5.so", "libomp.so"):
            if (folder / name).exists():
                return str(folder / name)
    for library in ("iomp5", "omp", "omp5"):
        found = ctypes.util.find_library(library)
        if found:
            return found
    raise TaichiRuntimeError(
        "no OpenMP runtime found: install 'intel-openmp', or use ti.init(cpu_max_num_threads=1)"
    )


class Frame:
    """The arguments of one launch, packed: the values that it sets, what it returns, what it found
    wrong.

    `checks` are the bits of `insert-access-checks`, which belong to the thread: they follow the
    values.
    """

    def __init__(
        self, parameters: Sequence[Parameter], memory: Mapping[str, Located], result_count: int
    ) -> None:
        self.values: list[Any] = []
        self.results: Any = None
        self.record: Any = None
        self.owners: list[Any] = []
        self.packed = (ctypes.c_void_p * max(1, len(parameters)))()
        checks = []
        for position, parameter in enumerate(parameters):
            slot: Any = _CTYPES[parameter.type]()
            if parameter.is_results:
                self.results = (ctypes.c_int64 * max(1, result_count))()
                slot.value = ctypes.addressof(self.results)
            elif parameter.symbol == RECORD:
                self.record = (ctypes.c_int64 * RECORD_SIZE)()
                slot.value = ctypes.addressof(self.record)
            elif parameter.symbol is None:
                self.values.append(slot)
            elif parameter.symbol.startswith(CHECK):
                checks.append(slot)
            else:
                slot.value = memory[parameter.symbol].address
            self.owners.append(slot)
            self.packed[position] = ctypes.addressof(slot)
        self.values += checks


class CompiledKernel(Code):
    """Machine code of one kernel. Any number of threads may launch it: each launch has a frame to
    itself."""

    def __init__(
        self,
        module: ir.Module,
        name: str,
        parameters: Sequence[Parameter],
        find: Callable[[str], Located],
        *,
        results: Sequence[DataType] = (),
        messages: Sequence[str] = (),
        opt_level: int = 3,
        parallel: bool = True,
        failure: type[TaichiRuntimeError] = TaichiAssertionError,
    ) -> None:
        libraries = [openmp_library()] if parallel else []
        self.engine = ExecutionEngine(module, opt_level=opt_level, shared_libs=libraries)
        self.function: Callable[[Any], None] = self.engine.lookup(name)
        self.parameters, self.messages, self.failure = parameters, messages, failure
        symbols = [p.symbol for p in parameters if p.symbol is not None and p.symbol != RECORD]
        self.checks = [symbol.removeprefix(CHECK) for symbol in symbols if symbol.startswith(CHECK)]
        self.memory = {
            symbol: find(symbol) for symbol in symbols if not symbol.startswith(CHECK)
        }  # as long as the code
        self._results = (
            Struct("=" + "".join(_WORDS[dtype.name] for dtype in results)) if results else None
        )
        self._result_count = len(results)
        self._ended = bool(messages) or any(p.is_results for p in parameters)
        self._idle = [self._frame()]  # the one of the launch that ended last is the last

    def _frame(self) -> Frame:
        return Frame(self.parameters, self.memory, self._result_count)

    def launch(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Run with the values of this launch, in the order of the kernel's parameters; what the
        kernel returns.

        Raises an error of the kind `failure` where an assertion or a check failed.
        """
        try:
            frame = self._idle.pop()
        except IndexError:  # as many launches as there were at once run now
            frame = self._frame()
        for slot, value in zip(frame.values, values):
            slot.value = value
        self.function(frame.packed)
        found = self._end(frame) if self._ended else ()
        self._idle.append(frame)
        return found

    def _end(self, frame: Frame) -> tuple[Any, ...]:
        if frame.record is not None and frame.record[0]:
            raise_recorded(
                self.messages, frame.record, self.failure
            )  # and the frame is not used again
        return (
            ()
            if frame.results is None or self._results is None
            else self._results.unpack_from(frame.results)
        )

    def ran_last_with(self, values: Sequence[Any]) -> bool:
        """Whether the launch that ended last had the same values."""
        frame = next(iter(self._idle[-1:]), None)
        return frame is not None and all(
            type(slot)(value).value == slot.value for slot, value in zip(frame.values, values)
        )


class CpuExecutor(Executor):
    """This machine's CPU."""

    def __init__(self) -> None:
        self.memory = HostMemory()

    def stages(self, mode: Mode, config: Config) -> list[Stage]:
        """The pipeline to machine code."""
        return cpu_stages(
            mode,
            threads=config.cpu_max_num_threads,
            worth=config.thread_worth,
            fast_math=config.fast_math,
            check_bounds=config.debug,
            fused=has_fused_multiply_add(),
        )

    def compile(
        self, lowered: Lowered, find: Callable[[str], Located], config: Config
    ) -> CompiledKernel:
        """Machine code."""
        return CompiledKernel(
            lowered.module,
            lowered.name,
            lowered.parameters,
            find,
            results=lowered.results,
            messages=lowered.messages,
            opt_level=config.opt_level,
            parallel=config.cpu_max_num_threads > 1,
            failure=lowered.failure,
        )
