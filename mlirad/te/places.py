"""Where in a user's program an expression is written."""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.errors import SourceLocation
from mlirad.lang.callers import program_frame


def place() -> SourceLocation:
    """File, line and column of what the program evaluates now."""
    frame, _ = program_frame()
    code, instruction = frame.f_code, frame.f_lasti // 2
    for number, position in enumerate(code.co_positions()):
        if number == instruction:
            line, _, column, _ = position
            return SourceLocation(code.co_filename, line or frame.f_lineno, (column or 0) + 1)
    return SourceLocation(code.co_filename, frame.f_lineno, 1)


def location(of: SourceLocation) -> ir.Location:
    """The same for MLIR."""
    return ir.Location.file(of.file, of.line, of.column)
