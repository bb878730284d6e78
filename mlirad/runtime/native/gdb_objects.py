"""Object files in memory that gdb is told of, through its interface for compilers that run in the
program (GDB manual, "JIT Compilation Interface"): a list of files, and a function that gdb has a
breakpoint in. LLVM's library has both."""

from __future__ import annotations

import ctypes
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from mlirad.bindings import PROVIDER
from mlirad.dialect.turn import in_turn

_REGISTER = 1


class _Entry(ctypes.Structure):
    """`jit_code_entry`."""


_Link = ctypes.POINTER(_Entry)
_Entry._fields_ = [
    ("next", _Link),
    ("previous", _Link),
    ("address", ctypes.c_void_p),
    ("size", ctypes.c_uint64),
]


class _Descriptor(ctypes.Structure):
    """`jit_descriptor`."""

    _fields_ = [
        ("version", ctypes.c_uint32),
        ("action", ctypes.c_uint32),
        ("relevant", _Link),
        ("first", _Link),
    ]


_listed: list[object] = []  # what the list holds


@in_turn
def show_to_gdb(data: bytes) -> None:
    """Have gdb read an object file, whose header has addresses, until the process ends."""
    library = _library()
    if library is None:
        return
    file = (ctypes.c_char * len(data)).from_buffer_copy(data)
    entry = _Entry(None, None, ctypes.addressof(file), len(data))
    _listed.append((file, entry))
    descriptor = _Descriptor.in_dll(library, "__jit_debug_descriptor")
    entry.next = descriptor.first
    if descriptor.first:
        descriptor.first.contents.previous = ctypes.pointer(entry)
    descriptor.first = descriptor.relevant = ctypes.pointer(entry)
    descriptor.action = _REGISTER
    library["__jit_debug_register_code"]()
    descriptor.action = 0


@cache
def _library() -> ctypes.CDLL | None:
    """Return the library of the bindings that has gdb's list."""
    spec = find_spec(f"{PROVIDER}._mlir_libs")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        for path in sorted(Path(folder).glob("lib*CAPI*.so")):
            library = ctypes.CDLL(str(path))
            if hasattr(library, "__jit_debug_register_code"):
                return library
    return None
