"""Machine code of a lowered kernel: compiled, or loaded where an earlier process compiled it."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from mlirad.errors import MLIRError
from mlirad.host import Feature, has
from mlirad.ir.reports.location import source_location
from mlirad.ir.requirements import symbol_of
from mlirad.ir.walk import llvm_functions
from mlirad.runtime.executor.executor import LoweredKernel
from mlirad.runtime.native.compiler_pages import give_back_compiler_pages
from mlirad.runtime.native.engine import engine_of
from mlirad.runtime.native.loaded_object import LoadedObject
from mlirad.runtime.native.object_file import UnreadableObjectError

_INTERFACE = "_mlir_ciface_"
_PACKED = "_mlir__mlir_ciface_{}"  # what the engine adds: the C interface, its arguments packed
_LARGEST_OBJECT, _SMALL_OBJECT = 64 << 20, 64 << 10
_waiting: deque[Any] = deque(maxlen=4)  # engines of the last small modules
_debugged_code: list[object] = []  # code that gdb knows


class MachineCode(NamedTuple):
    """Code of the host, which takes the addresses of its arguments; `owner` has its memory."""

    function: Callable[[Any], None]
    owner: object


def machine_code(
    lowered: LoweredKernel,
    *,
    opt_level: int = 3,
    libraries: Sequence[str] = (),
    debug_info: bool = False,
) -> MachineCode:
    """Code of a kernel, which is kept for later processes; with `debug_info`, gdb and perf know
    it."""
    loaded = _load(lowered, lowered.code.binary, libraries, debug_info)
    return loaded or _compile(lowered, opt_level, libraries, debug_info)


def _compile(
    lowered: LoweredKernel, opt_level: int, libraries: Sequence[str], debug_info: bool
) -> MachineCode:
    """Return the machine code that LLVM compiles.

    Its object file is loaded where it can be: the engine would keep a copy of all that LLVM needs
    for a module, 0.8 MB a kernel. When an engine goes, it looks for what is to be done at the end,
    and compiles a module of its own for that, 2 ms: the last few small ones wait.
    """
    _ = lowered.module  # whose passes run in such pages too
    if not debug_info:  # gdb's breakpoints are in such pages
        give_back_compiler_pages()
    engine, function = _engine_and_function(lowered, opt_level, libraries)
    code = _object_of(engine) if has(Feature.LOADER) and _may_write_files() else None
    if code is not None and lowered.code.keep is not None:
        lowered.code.keep(code)
    loaded = _load(lowered, code, libraries, debug_info)
    if debug_info:  # gdb cannot take its breakpoints from memory that is gone
        _debugged_code.append(engine)
    elif code is not None and len(code) < _SMALL_OBJECT:
        _waiting.append(engine)
    if not debug_info:
        give_back_compiler_pages()
    return loaded or MachineCode(function, engine)


def _engine_and_function(
    lowered: LoweredKernel, opt_level: int, libraries: Sequence[str]
) -> tuple[Any, Callable[[Any], None]]:
    """Raises MLIRError, with the place of the kernel, if LLVM cannot compile it."""
    try:
        engine = engine_of(lowered.module, opt_level=opt_level, libraries=libraries)
        return engine, engine.lookup(lowered.name)
    except RuntimeError as error:
        functions = {symbol_of(op): op for op in llvm_functions(lowered.module.operation)}
        function = functions.get(f"{_INTERFACE}{lowered.name}")
        place = None if function is None else source_location(function.location)
        raise MLIRError(f"LLVM cannot compile '{lowered.name}': {error}", place) from None


def _load(
    lowered: LoweredKernel, code: bytes | None, libraries: Sequence[str], debug_info: bool
) -> MachineCode | None:
    if code is None or not has(Feature.LOADER):
        return None
    try:
        loaded = LoadedObject(code, libraries)
        function = loaded.function(_PACKED.format(lowered.name))
    except (UnreadableObjectError, OSError):  # a library that is not here
        return None
    if debug_info:
        from mlirad.runtime.native.debuggers import show_code  # few programs need it

        interface = f"{_INTERFACE}{lowered.name}"
        show_code(loaded, code, {interface: lowered.title or lowered.name})
        _debugged_code.append(loaded)
    return MachineCode(function, loaded)


def _may_write_files() -> bool:
    """Return whether files of this process, in memory too, may be as large as objects are: where
    one may not, LLVM ends the process."""
    import resource  # not on every system

    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    return limit == resource.RLIM_INFINITY or limit >= _LARGEST_OBJECT


def _object_of(engine: Any) -> bytes:
    """The object file of what was compiled."""
    file = os.memfd_create("object")
    try:
        engine.dump_to_object_file(f"/proc/self/fd/{file}")
        return os.pread(file, os.fstat(file).st_size, 0)
    finally:
        os.close(file)
