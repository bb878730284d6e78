"""Machine code of a lowered kernel: compiled, or loaded where an earlier process compiled it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from mlirad.runtime.executor.executor import LoweredKernel
from mlirad.runtime.native.compiler_pages import give_back_compiler_pages
from mlirad.runtime.native.engine import engine_of
from mlirad.runtime.native.loaded_object import LoadedObject, can_load_objects
from mlirad.runtime.native.object_file import UnreadableObjectError

_PACKED = "_mlir__mlir_ciface_{}"  # what the engine adds: the C interface, its arguments packed
_LARGEST_OBJECT, _SMALL_OBJECT = 64 << 20, 64 << 10
_waiting: list[Any] = []  # the engine that was wanted last


class MachineCode(NamedTuple):
    """Code of the host, which takes the addresses of its arguments; `owner` has its memory."""

    function: Callable[[Any], None]
    owner: object


def machine_code(
    lowered: LoweredKernel, *, opt_level: int = 3, libraries: Sequence[str] = ()
) -> MachineCode:
    """Code of a kernel, which is kept for later processes."""
    loaded = _load(lowered.code.binary, lowered.name, libraries)
    return loaded or _compile(lowered, opt_level, libraries)


def _compile(lowered: LoweredKernel, opt_level: int, libraries: Sequence[str]) -> MachineCode:
    """What LLVM makes of it.

    Its object file is loaded where it can be: the engine would keep a copy of all that LLVM needs
    for a module, 0.8 MB a kernel. When an engine goes, it looks for what is to be done at the end,
    and compiles a module of its own for that: a small one waits until the next one is wanted.
    """
    module = lowered.module
    give_back_compiler_pages()
    _waiting.clear()
    engine = engine_of(module, opt_level=opt_level, libraries=libraries)
    function = engine.lookup(lowered.name)
    code = _object_of(engine) if can_load_objects() and _may_write_files() else None
    if code is not None and lowered.code.keep is not None:
        lowered.code.keep(code)
    loaded = _load(code, lowered.name, libraries)
    if code is not None and len(code) < _SMALL_OBJECT:
        _waiting.append(engine)
    give_back_compiler_pages()
    return loaded or MachineCode(function, engine)


def _load(code: bytes | None, name: str, libraries: Sequence[str]) -> MachineCode | None:
    if code is None:
        return None
    try:
        loaded = LoadedObject(code, libraries)
        return MachineCode(loaded.function(_PACKED.format(name)), loaded)
    except (UnreadableObjectError, OSError):  # a library that is not here
        return None


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
