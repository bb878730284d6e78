"""Machine code of a lowered kernel: compiled, or loaded where an earlier process compiled it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from mlirad.runtime.executor.executor import KeptCode, Lowered
from mlirad.runtime.native.loaded_object import LoadedObject, can_load_objects
from mlirad.runtime.native.object_file import UnreadableObjectError

_PACKED = "_mlir__mlir_ciface_{}"  # what the engine adds: the C interface, its arguments packed


class MachineCode(NamedTuple):
    """Code of the host, which takes the addresses of its arguments; `owner` has its memory."""

    function: Callable[[Any], None]
    owner: object


def machine_code(
    lowered: Lowered, *, opt_level: int = 3, libraries: Sequence[str] = ()
) -> MachineCode:
    """Code of a kernel, which is kept for later processes."""
    loaded = _loaded(lowered.code, lowered.name, libraries)
    if loaded is not None:
        return loaded
    from mlirad.bindings import ExecutionEngine  # takes a while to load

    engine = ExecutionEngine(lowered.module, opt_level=opt_level, shared_libs=[*libraries])
    made = MachineCode(engine.lookup(lowered.name), engine)
    if lowered.code.keep is not None and can_load_objects():
        lowered.code.keep(_object_of(engine))
    return made


def _loaded(code: KeptCode, name: str, libraries: Sequence[str]) -> MachineCode | None:
    if code.found is None:
        return None
    try:
        loaded = LoadedObject(code.found, libraries)
        return MachineCode(loaded.function(_PACKED.format(name)), loaded)
    except (UnreadableObjectError, OSError):  # a library that is not here
        return None


def _object_of(engine: Any) -> bytes:
    """The object file of what was compiled."""
    file = os.memfd_create("object")
    try:
        engine.dump_to_object_file(f"/proc/self/fd/{file}")
        return os.pread(file, os.fstat(file).st_size, 0)
    finally:
        os.close(file)
