"""The line of the program that called us: where warnings and errors point to."""

from __future__ import annotations

import os
import sys
from dis import opmap
from pathlib import Path
from types import FrameType

from mlirad.errors import spelled

_PACKAGE = str(Path(__file__).parent.parent) + os.sep
_LIBRARIES = frozenset({"numpy", "torch", "jax", "matplotlib", "PIL", "scipy"})
_EXAMPLES = str(Path(_PACKAGE) / "examples")


def program_frame() -> tuple[FrameType, int]:
    """The innermost frame of the program, and how many frames up it is from the caller, counting
    from 1. Libraries that take our arrays are not the program."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and (is_ours(frame) or _is_library(frame)):
        frame, level = frame.f_back, level + 1
    return frame, level


def is_ours(frame: FrameType) -> bool:
    """Return whether a frame is one of this package, and not of its examples."""
    file = frame.f_code.co_filename
    return file.startswith(_PACKAGE) and not file.startswith(_EXAMPLES)


def _is_library(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] in _LIBRARIES


def caller() -> str:
    """The line of the program that runs now."""
    frame, _ = program_frame()
    return f"{spelled(frame.f_code.co_filename)}:{frame.f_lineno}"


def place_in_program(place: str) -> str:
    """A place of a kernel; of one of this package, the line of the program that launches it."""
    return caller() if place.startswith(_PACKAGE) else place


def is_result_used() -> bool:
    """Return whether the program does something with what the call that runs now returns to it."""
    frame: FrameType | None = program_frame()[0]
    while frame is not None:
        following = _next_operation(frame)
        if following != opmap["RETURN_VALUE"]:
            return following != opmap["POP_TOP"]
        frame = frame.f_back
    return True


def _next_operation(frame: FrameType) -> int:
    """Return the operation after the call in a frame; inline caches are zeros."""
    code, position = frame.f_code.co_code, frame.f_lasti + 2
    while position < len(code) - 2 and code[position] == opmap["CACHE"]:
        position += 2
    return code[position]
