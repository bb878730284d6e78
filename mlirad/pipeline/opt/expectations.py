"""Expected diagnostics, written as comments: `// expected-error @+1 {{what it says}}`."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from mlirad.errors import MLIRError, SourceLocation
from mlirad.pipeline.opt.diagnostics import Diagnostic, Severity

_EXPECTATION = re.compile(
    r"expected-(error|warning|remark|note)(-re)?\s*(?:@([+-]\d+|above|below|unknown))?\s*"
    r"{{((?:{{.*?}}|.)*?)}}"
)
_INNER = re.compile(r"{{(.*?)}}")


class Expectation(msgspec.Struct, frozen=True):
    """A diagnostic that has to be reported at a line, or without a place where `line` is None."""

    severity: Severity
    line: int | None
    message: str
    written: SourceLocation
    pattern: re.Pattern[str] | None = (
        None  # instead of the message, where that has regular expressions in it
    )

    def is_met_by(self, diagnostic: Diagnostic) -> bool:
        """Return whether this diagnostic is the expected one."""
        place = diagnostic.place
        if self.line is None or place is None:
            at_place = self.line is None and place is None
        else:
            at_place = (place.file, place.line) == (self.written.file, self.line)
        return at_place and diagnostic.severity == self.severity and self._is_in(diagnostic.message)

    def _is_in(self, message: str) -> bool:
        return (
            self.message in message
            if self.pattern is None
            else self.pattern.search(message) is not None
        )


def parse_expectations(text: str, file: str) -> list[Expectation]:
    """The expectations in the comments of a text. Raises MLIRError for a regular expression that is
    none."""
    lines = text.split("\n")
    expectations = []
    for number, text_line in enumerate(lines, 1):
        for match in _EXPECTATION.finditer(text_line):
            severity, is_pattern, designator, message = match.groups()
            written = SourceLocation(file, number, match.start() + 1)
            pattern = _pattern(message, written) if is_pattern else None
            line = _target(lines, number, designator)
            expectations.append(Expectation(Severity(severity), line, message, written, pattern))
    return expectations


def _pattern(message: str, written: SourceLocation) -> re.Pattern[str]:
    """A text in which what stands in double braces is a regular expression."""
    pieces = _INNER.split(message)  # every second one is a regular expression
    pieces[::2] = map(re.escape, pieces[::2])
    pieces[1::2] = [f"(?:{piece})" for piece in pieces[1::2]]
    try:
        return re.compile("".join(pieces))
    except re.error as error:
        raise MLIRError(f"'{message}' is not a regular expression: {error}", written) from None


def _target(lines: Sequence[str], number: int, designator: str | None) -> int | None:
    """The line that a designator at line `number` points to; `above` and `below` pass over other
    expectations."""
    if designator is None:
        return number
    if designator == "unknown":
        return None
    if designator not in ("above", "below"):
        return number + int(designator)
    step = 1 if designator == "below" else -1
    number += step
    while 0 < number <= len(lines) and _EXPECTATION.search(lines[number - 1]):
        number += step
    return number


def unmet(expectations: Sequence[Expectation], reported: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Errors about what was expected and not reported, and about what was reported and not
    expected."""
    left = list(expectations)
    errors = []
    for diagnostic in reported:
        match = next((e for e in left if e.is_met_by(diagnostic)), None)
        if match is not None:
            left.remove(match)
        elif diagnostic.severity is not Severity.NOTE:
            text = f"unexpected {diagnostic.severity}: {diagnostic.message}"
            errors.append(Diagnostic(Severity.ERROR, diagnostic.place, text))
    for e in left:
        text = f'expected {e.severity} "{e.message}" was not produced'
        errors.append(Diagnostic(Severity.ERROR, e.written, text))
    return errors
