"""The text of a function: from a file, a cell of a notebook, or wherever else Python was given it.

Python keeps no text of a program that `python -c`, the standard input or `exec()` gave it, so it is
looked for: in the command line, in the file that the standard input is, in the strings of the
callers. What is found is taken where Python makes the function's code of it again.
"""

from __future__ import annotations

import inspect
import linecache
import os
import re
import stat
import sys
import zlib
from ast import PyCF_ONLY_AST
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, FrameType
from typing import Any

_ATTEMPTS = 8  # to find the end of a function
_FUTURE = 0x1FF0000  # flags of `from __future__ import ...`, which code that runs exec() hands on


def text_of(function: Callable[..., Any]) -> tuple[list[str], int, str]:
    """The lines of a function, the number of the first, and its file. Raises OSError or TypeError
    where there are none."""
    code = getattr(function, "__code__", None)
    if code is None or code.co_filename not in _WITHOUT_TEXT:
        lines, start = inspect.findsource(inspect.unwrap(function))
        file = inspect.getsourcefile(function) or "<unknown>"
        return definition(lines[start:]), start + 1, file
    for name, text, flags in _WITHOUT_TEXT[code.co_filename]():
        if f"def {code.co_name}" in text and _makes(text, flags, code):
            linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
            lines = linecache.getlines(name)[code.co_firstlineno - 1 :]
            return definition(lines), code.co_firstlineno, name
    raise OSError(f"no text is kept of {code.co_filename}")


def definition(lines: Sequence[str]) -> list[str]:
    """The lines of the function that begins with the first of these.

    It ends where a line is indented less than its body, and what is before is a whole statement.
    `inspect` looks for that by tokens, whose patterns take longer to compile than a small kernel.
    """
    indent = _indent(lines[0])
    attempts = 0
    for end in range(1, len(lines) + 1):
        if end < len(lines) and (_says_nothing(lines[end]) or _indent(lines[end]) > indent):
            continue
        if _is_statement("if True:\n" * bool(indent) + "".join(lines[:end])):
            while _says_nothing(lines[end - 1]):
                end -= 1
            return [*lines[:end]]
        attempts += 1
        if attempts == _ATTEMPTS:
            break
    return [*inspect.getblock([*lines])]


def _indent(line: str) -> int:
    return len(line.expandtabs()) - len(line.expandtabs().lstrip())


def _says_nothing(line: str) -> bool:
    return line.strip()[:1] in ("", "#")


def _is_statement(text: str) -> bool:
    try:
        compile(text, "<string>", "exec", flags=PyCF_ONLY_AST, dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


def origin(function: Callable[..., object]) -> str:
    """Where a function without text comes from."""
    file = getattr(getattr(function, "__code__", None), "co_filename", "")
    return {
        "<stdin>": "standard input or an interactive prompt",
        "<string>": "exec() or eval()",
    }.get(file, f"'{file}'")


def _makes(text: str, flags: int, wanted: CodeType) -> bool:
    """Whether Python makes some code of a text."""
    try:
        made = compile(text, "<string>", "exec", flags=flags, dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return _holds(made, wanted)


def _holds(code: CodeType, wanted: CodeType) -> bool:
    """Whether code, or a function in it, is the wanted code."""
    return code == wanted or any(
        _holds(part, wanted) for part in code.co_consts if isinstance(part, CodeType)
    )


def _strings() -> Iterator[tuple[str, str, int]]:
    """The program of `python -c`, then the strings of the callers, with the flags that their
    `exec()` hands on."""
    program = _command_line_program()
    if program is not None:
        yield "<string>", program, 0
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        flags = frame.f_code.co_flags & _FUTURE
        known = [*frame.f_code.co_consts, *frame.f_locals.values()]
        for text in known:
            if isinstance(text, str):
                yield f"<string {zlib.crc32(text.encode(errors='replace')):08x}>", text, flags
        frame = frame.f_back


def _standard_input() -> Iterator[tuple[str, str, int]]:
    """The file that the standard input is."""
    try:
        found = os.fstat(0)
        if stat.S_ISREG(found.st_mode):
            yield "<stdin>", os.pread(0, found.st_size, 0).decode(errors="replace"), 0
    except OSError:
        return


def _command_line_program() -> str | None:
    """The text behind `-c`, or None."""
    given = sys.orig_argv[1:]
    flags = [k for k, text in enumerate(given) if re.fullmatch("-[A-Za-z]*c", text)]
    return (
        given[flags[0] + 1]
        if sys.argv[:1] == ["-c"] and flags and flags[0] + 1 < len(given)
        else None
    )


_WITHOUT_TEXT = {"<string>": _strings, "<stdin>": _standard_input}
