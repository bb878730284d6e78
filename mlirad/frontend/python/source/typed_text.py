"""The text that Python was given without a file: what its standard input was, and what was typed at
a prompt."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Sequence

from mlirad.frontend.python.source.whole_statements import definition, is_blank

_TAIL = 8  # lines of other data that may follow a text in memory
_BEGINS = ("@", "def ", "class ", "if ", "for ", "while ", "with ", "try:", "match ")


def input_texts() -> Iterator[str]:
    """The texts that may have been the standard input: of a file, or of what was read last from a
    pipe, without one more line of its end each time."""
    try:
        status = os.fstat(0)
        if stat.S_ISREG(status.st_mode):
            yield os.pread(0, status.st_size, 0).decode(errors="replace")
        elif not os.isatty(0):
            lines = _buffer().partition(b"\0")[0].decode(errors="replace").splitlines(keepends=True)
            yield from ("".join(lines[: len(lines) - cut]) for cut in range(_TAIL))
    except OSError:
        return


def typed_statements() -> Iterator[str]:
    """The statements of several lines that were typed at a prompt, the last one first."""
    lines = _history() or next(input_texts(), "").splitlines(keepends=True)
    for start in range(len(lines) - 1, -1, -1):
        is_decorated = start > 0 and lines[start - 1].startswith("@")
        if lines[start].startswith(_BEGINS) and not is_decorated:
            block = _block(lines[start:])
            if block:
                yield "".join(block)


def _block(lines: Sequence[str]) -> list[str]:
    """Return the statement that begins with the first of some lines."""
    end = next((k for k, line in enumerate(lines) if k and is_blank(line)), len(lines))
    try:
        return definition(lines[:end])
    except SyntaxError:
        return []


def _history() -> list[str]:
    """Return the lines that were typed into a terminal, where Python keeps them."""
    readline = sys.modules.get("readline")
    if readline is None or not os.isatty(0):
        return []
    count = readline.get_current_history_length()
    return [f"{readline.get_history_item(k)}\n" for k in range(1, count + 1)]


def _buffer() -> bytes:
    """Return the buffer of the C library's standard input, in which a short program stays."""
    import ctypes
    import platform

    if platform.libc_ver()[0] != "glibc":
        return b""
    file = ctypes.c_void_p.in_dll(ctypes.CDLL(None), "stdin").value
    if not file:
        return b""
    begin, end = (ctypes.c_void_p * 2).from_address(file + 7 * ctypes.sizeof(ctypes.c_void_p))
    return ctypes.string_at(begin, end - begin) if begin and end else b""
