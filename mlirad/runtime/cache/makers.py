"""Dependencies of compiled code besides the program: mlirad's sources, the MLIR bindings, the C
library and the processor. All of it has one digest.

The sources are those of an editable install too: their contents count, not a version. A process
whose sources change while it runs keeps nothing, for nobody knows which of them it has read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from hashlib import sha256

from mlirad.bindings import PROVIDER, ir
from mlirad.loading import BEGAN, FOLDER

_FRONT = ("ad", "examples", "frontend", "lang")  # the key has the module that these make
_COARSE = 20_000_000  # nanoseconds: file systems look at the clock that seldom
_OF_PROCESSOR = (
    "vendor_id",
    "cpu family",
    "model",
    "model name",
    "stepping",
    "flags",
    "Features",
    "CPU implementer",
    "CPU architecture",
    "CPU variant",
    "CPU part",
    "CPU revision",
)


def makers(sources: str) -> str:
    """The digest, of that of the sources and of all else. Raises OSError."""
    return sha256("\n".join([sources, *_bindings(), *_machine()]).encode()).hexdigest()


def contents() -> str | None:
    """A digest of what is in the sources; None if they are not those that this process began
    with. Raises OSError."""
    digest = sha256()
    for entry in _sources():
        with open(entry.path, "rb", buffering=0) as file:
            digest.update(b"%s\0%d\0" % (entry.name.encode(), entry.stat().st_size))
            digest.update(file.read())
    return digest.hexdigest() if are_unchanged() else None


@cache
def stamp() -> str | None:
    """A digest of the places of the sources and of when they were changed, which is found sooner
    than their contents: those of two processes are the same if this is."""
    lines = []
    try:
        for entry in _sources():
            file = entry.stat()
            if not _is_old(file):
                return None
            times = f"{file.st_mtime_ns} {file.st_ctime_ns}"
            lines.append(f"{entry.path} {file.st_ino} {file.st_size} {times}")
    except OSError:
        return None
    return sha256("\n".join(lines).encode()).hexdigest()


def are_unchanged() -> bool:
    """Return whether the sources are those that this process began with."""
    try:
        return all(_is_old(entry.stat()) for entry in _sources())
    except OSError:
        return False


def _is_old(file: os.stat_result) -> bool:
    return file.st_ctime_ns < BEGAN - _COARSE


def _sources() -> Iterator[os.DirEntry[str]]:
    """Yield the sources of all that comes behind the frontend, in the order of their names."""
    pending = [FOLDER]
    while pending:
        folder = pending.pop()
        with os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                if entry.name.endswith(".py"):
                    yield entry
                elif entry.is_dir() and not (folder == FOLDER and entry.name in _FRONT):
                    pending.append(entry.path)


def _bindings() -> Iterator[str]:
    folder = os.path.join(os.path.dirname(ir.__file__), "_mlir_libs")
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.name.endswith(".so"):
            status = entry.stat()
            yield f"{PROVIDER} {entry.name} {status.st_size} {status.st_mtime_ns}"


def _machine() -> Iterator[str]:
    """The processor, and the C library, which computes what LLVM folds."""
    system = os.uname()
    yield from (system.sysname, system.machine)
    has_glibc = "CS_GNU_LIBC_VERSION" in os.confstr_names
    yield (has_glibc and os.confstr("CS_GNU_LIBC_VERSION")) or system.version
    if not os.path.exists("/proc/cpuinfo"):
        return
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            name, _, value = line.partition(":")
            if not line.strip():
                return  # behind the first processor
            if name.strip() in _OF_PROCESSOR:
                yield f"{name.strip()}={value.strip()}"
