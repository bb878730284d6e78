"""Texts that upstream's parser is not given, because they would end the process, and texts that it
refuses without a word."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mlirad.errors import MLIRError, SourceLocation

DEEPEST = 500  # brackets within brackets: the parser calls itself for each
LARGEST = (1 << 31) - 1  # a position, which upstream casts to 32 bits

_PRODUCT = "linalg.matmul"

_TOKEN = re.compile(
    r'//[^\n]*|"(?P<string>(?:\\.|[^"\\\n])*)"|(?P<open>[({\[<])|(?P<close>[)}\]]|(?<!-)>)|(?P<nul>\0)'
    r"|(?P<position>\b(?:insertvalue|extractvalue|position)\b)"
    r"|(?P<list>\b(?:iterator_types|dimensions|permutation)[ \t\n]*=|\blinalg\.matmul\b)"
)
_ESCAPE = re.compile(rb"\\(?:([0-9a-fA-F]{2})|.)")
_INTEGER = re.compile(r"-?(?:0x[0-9a-fA-F]{8,}|\d{10,})")
_UNQUOTED = re.compile(r"(?:^|=)[ \t]*(?P<name>(?:field|grad|snode|te)\.\w+)", re.MULTILINE)


def decode(raw: bytes, file: str) -> str:
    """The text of a file. Raises MLIRError, with the place, if it is not UTF-8."""
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        before = raw[: error.start]
        column = len(before) - before.rfind(b"\n")
        place = SourceLocation(file, 1 + before.count(b"\n"), column)
        raise MLIRError(f"byte 0x{raw[error.start]:02x} is not UTF-8", place) from None


def check_text(text: str, file: str) -> None:
    """Raise MLIRError, with the place, for what upstream's parser does not survive."""
    depth = 0
    for token in _TOKEN.finditer(text):
        problem = None
        if token["open"]:
            depth += 1
            problem = f"brackets nest deeper than {DEEPEST}" if depth > DEEPEST else None
        elif token["close"]:
            depth = max(0, depth - 1)
        elif token["list"] or token["string"] == _PRODUCT:
            from mlirad.pipeline.opt.source_lists import problem_of_list  # few programs have one

            problem = problem_of_list(text, token.start(), token.end())
        elif token["string"]:
            problem = _problem_of_string(token["string"])
        elif token["nul"]:
            problem = "a zero byte"
        elif token["position"]:
            problem = _problem_of_positions(text[token.end() : text.find("\n", token.end())])
        if problem is not None:
            raise MLIRError(problem, place_of(text, token.start(), file))


def _problem_of_string(string: str) -> str | None:
    if "\\" not in string:
        return None
    raw = _ESCAPE.sub(
        lambda match: bytes([int(match[1], 16)]) if match[1] else b"?", string.encode()
    )
    try:
        raw.decode()
    except UnicodeDecodeError:
        return "a string whose bytes are not UTF-8"
    return None


def _problem_of_positions(line_end: str) -> str | None:
    large = [number for number in _INTEGER.findall(line_end) if _is_large(number)]
    return f"position {large[0]} is larger than {LARGEST}" if large else None


def _is_large(number: str) -> bool:
    digits = number.removeprefix("-")
    if len(digits) > 20:
        return True
    return int(digits, 16 if digits.startswith("0x") else 10) > LARGEST


def refused_in_silence(text: str, file: str) -> MLIRError:
    """The error for a text that the parser refused without saying why: some ops of ours have no
    short form."""
    for match in _UNQUOTED.finditer(_without_strings(text)):
        return MLIRError(
            f"'{match['name']}' is written in quotes, in generic form",
            place_of(text, match.start("name"), file),
        )
    return MLIRError(
        "the parser refused the text, and does not say why", SourceLocation(file, 1, 1)
    )


def _without_strings(text: str) -> str:
    """A text of the same length, with blanks for strings and comments."""

    def blank(match: re.Match[str]) -> str:
        return " " * len(match[0]) if match[0].startswith(("/", '"')) else match[0]

    return _TOKEN.sub(blank, text)


def place_of(text: str, position: int, file: str) -> SourceLocation:
    """Line and column of a character."""
    return SourceLocation(
        file, 1 + text.count("\n", 0, position), position - text.rfind("\n", 0, position)
    )


def chunks(text: str, separator: str) -> Iterator[str]:
    """The parts between separators, each behind as many empty lines as keep the numbers of its
    lines."""
    start, lines = 0, text.split("\n")
    for number, line in enumerate([*lines, separator]):
        if line.rstrip() == separator:
            yield "\n" * start + "\n".join(lines[start:number]) + "\n"
            start = number + 1
