"""The text of a function: from a file, a cell of a notebook, or wherever else Python was given it.

Python keeps no text of a program that `python -c`, the standard input or `exec()` gave it, so it is
looked for: in the command line, in the standard input, in what was typed, in the strings of the
callers. A text is taken if Python makes the function's code of it again. So is the text
of a file that was written to since the process began, which is refused where Python does not.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import os
import re
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import CodeType, FrameType
from typing import Any

from mlirad.errors import TaichiSyntaxError
from mlirad.frontend.python.source.whole_statements import definition, indent

_PYTEST = "@pytest_ar"  # a name in assertions that pytest rewrote
_FUTURE = 0x1FF0000  # flags of `from __future__ import ...`
PARSER = threading.RLock()  # Python 3.11 can fail if two threads make syntax trees at once


def parsed(text: str, file: str = "<unknown>") -> ast.Module:
    """Return the syntax tree of a text. Raises SyntaxError if it has none."""
    with PARSER:
        return ast.parse(text, file)


def text_of(function: Callable[..., Any]) -> tuple[list[str], int, str]:
    """The lines of a function, the number of the first, and its file. Raises OSError or TypeError
    where there are none, TaichiSyntaxError where they are not those that Python read."""
    code = getattr(function, "__code__", None)
    if code is None or code.co_filename not in _WITHOUT_TEXT:
        function = inspect.unwrap(function)
        file = inspect.getsourcefile(function) or inspect.getfile(function)
        earlier: Any = linecache.cache.get(file, ())
        now, start = inspect.findsource(function)  # which reads an edited file again
        lines: Sequence[str] = now
        if may_be_edited(file):
            lines, start = as_imported(function.__code__, (*earlier[2:3], now))
            if lines is not now:
                linecache.cache[file] = earlier
        if file.startswith("<") and file not in linecache.cache:  # a prompt of Python 3.14
            linecache.cache[file] = (0, None, [*lines], file)
        return definition(lines[start:]), start + 1, file
    for name, text in _WITHOUT_TEXT[code.co_filename]():
        if f"def {code.co_name}" in text and _makes(text, code):
            linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
            lines = linecache.getlines(name)[code.co_firstlineno - 1 :]
            return definition(lines), code.co_firstlineno, name
    raise OSError(f"the source of {code.co_filename} is not available")


def may_be_edited(file: str) -> bool:
    """Return whether a file was written to since this process began."""
    try:
        return os.stat(file).st_mtime >= _BEGAN
    except OSError:  # such as a cell of a notebook, whose text never changes
        return False


def as_imported(code: CodeType, texts: Iterable[Sequence[str]]) -> tuple[Sequence[str], int]:
    """The first of several texts of a file, as lines, that has a function of some code, and the
    position of its first line. Raises TaichiSyntaxError if none does."""
    key, texts = without_places(code), [*texts]
    for lines in texts:
        places = _places_in("".join(lines), code, key)
        if places:
            return lines, min(places, key=lambda line: abs(line - code.co_firstlineno)) - 1
    for lines in texts:  # by itself, as of a file that was executed piece by piece
        start = code.co_firstlineno - 1
        block = definition(lines[start:]) if start < len(lines) else []
        if _places_in("if True:\n" * bool(block and indent(block[0])) + "".join(block), code, key):
            return lines, start
    raise TaichiSyntaxError(
        f"'{code.co_name}', which began in line {code.co_firstlineno} of '{code.co_filename}', "
        "is no longer in that file as Python read it, because the file has been edited: a "
        "kernel is compiled from its source text at its first launch. Run the program again, or "
        "reload the module"
    )


def _places_in(text: str, code: CodeType, key: CodeType) -> list[int]:
    """The lines of a text at which a function of some code, without its places, begins."""
    try:
        tree = _with_assertions_of(code, text)
        module = compile(tree, "<string>", "exec", flags=code.co_flags & _FUTURE, dont_inherit=True)
    except (SyntaxError, ValueError):
        return []
    return [*_lines_of(module, key)]


def _with_assertions_of(code: CodeType, text: str) -> ast.Module | str:
    """A text as Python compiled it: pytest rewrites the assertions of the files that it imports."""
    if _PYTEST not in code.co_names:
        return text
    from _pytest.assertion.rewrite import rewrite_asserts  # there is no public name for it

    module = parsed(text)
    rewrite_asserts(module, text.encode())
    return module


def _lines_of(code: CodeType, key: CodeType) -> Iterator[int]:
    if code.co_name == key.co_name and without_places(code) == key:
        yield code.co_firstlineno
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _lines_of(constant, key)


def without_places(code: CodeType) -> CodeType:
    """Code that is equal to the same code on other lines."""
    constants = [without_places(c) if isinstance(c, CodeType) else c for c in code.co_consts]
    return code.replace(co_consts=tuple(constants), co_firstlineno=1, co_linetable=b"")


def _process_start() -> float:
    """The time at which the process began; 0 if the system does not say."""
    try:
        with open("/proc/self/stat", encoding="utf-8", errors="replace") as file:
            ticks = int(file.read().rpartition(")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, AttributeError):
        return 0.0
    return time.time() - age


_BEGAN = _process_start()


def origin(function: Callable[..., object]) -> str:
    """The origin of a function without text, for messages."""
    file = getattr(getattr(function, "__code__", None), "co_filename", "")
    return {
        "<stdin>": "standard input or an interactive prompt",
        "<console>": "an interactive prompt",
        "<string>": "exec() or eval()",
    }.get(file, f"'{file}'")


def _makes(text: str, code: CodeType) -> bool:
    """Return whether Python makes some code of a text."""
    try:
        module = compile(text, "<string>", "exec", flags=code.co_flags & _FUTURE, dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return _holds(module, code)


def _holds(code: CodeType, function: CodeType) -> bool:
    """Return whether code is that of a function, or holds it."""
    return code == function or any(
        _holds(constant, function) for constant in code.co_consts if isinstance(constant, CodeType)
    )


def _strings() -> Iterator[tuple[str, str]]:
    """The program of `python -c`, then the strings of the callers."""
    program = _command_line_program()
    if program is not None:
        yield "<string>", program
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        values = [*frame.f_code.co_consts, *frame.f_locals.values()]
        for text in values:
            if isinstance(text, str):
                yield _named("string", text), text
        frame = frame.f_back


def _standard_input() -> Iterator[tuple[str, str]]:
    from mlirad.frontend.python.source.typed_text import input_texts, typed_statements

    for text in input_texts():
        yield "<stdin>", text
    for text in typed_statements():
        yield _named("stdin", text), text


def _named(origin: str, text: str) -> str:
    """Return a name for a text among others of its origin."""
    return f"<{origin} {zlib.crc32(text.encode(errors='replace')):08x}>"


def _command_line_program() -> str | None:
    """The text behind `-c`, or None."""
    arguments = sys.orig_argv[1:]
    flags = [k for k, text in enumerate(arguments) if re.fullmatch("-[A-Za-z]*c", text)]
    return (
        arguments[flags[0] + 1]
        if sys.argv[:1] == ["-c"] and flags and flags[0] + 1 < len(arguments)
        else None
    )


_WITHOUT_TEXT = {"<string>": _strings, "<stdin>": _standard_input, "<console>": _standard_input}
