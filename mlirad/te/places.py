"""Places of expressions in a user's program."""

from __future__ import annotations

from types import FrameType

from mlirad.bindings import ir
from mlirad.errors import SourceLocation, spelled
from mlirad.lang.callers import is_ours, program_frame


def place() -> SourceLocation:
    """File, line and column of what the program evaluates now."""
    frame, _ = program_frame()
    while _is_made_by_dataclasses(frame) and frame.f_back is not None:
        frame = frame.f_back
        while frame.f_back is not None and is_ours(frame):
            frame = frame.f_back
    code, instruction = frame.f_code, frame.f_lasti // 2
    file = spelled(code.co_filename)
    for number, position in enumerate(code.co_positions()):
        if number == instruction:
            line, _, column, _ = position
            return SourceLocation(file, line or frame.f_lineno, (column or 0) + 1)
    return SourceLocation(file, frame.f_lineno, 1)


def _is_made_by_dataclasses(frame: FrameType) -> bool:
    """Return whether a frame is the `__init__` of one of our expressions, which has no file."""
    return frame.f_code.co_name == "__init__" and frame.f_code.co_filename == "<string>"


def location(of: SourceLocation) -> ir.Location:
    """Return a place of the program as a location of MLIR."""
    return ir.Location.file(of.file, of.line, of.column)
