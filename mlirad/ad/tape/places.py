"""Where in the user's program something happens."""

from __future__ import annotations

import sys
from dis import opmap
from types import FrameType

_PACKAGE = __file__.rsplit("/", 3)[0]


def caller() -> str:
    """The line of the user's program that runs now."""
    frame = _frame()
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def is_result_used() -> bool:
    """Whether the user's program does something with what the call that runs now returns to it."""
    frame: FrameType | None = _frame()
    while frame is not None:
        following = _next_operation(frame)
        if following != opmap["RETURN_VALUE"]:
            return following != opmap["POP_TOP"]
        frame = frame.f_back
    return True


def _frame() -> FrameType:
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return frame


def _next_operation(frame: FrameType) -> int:
    """What comes behind the call in a frame; inline caches are zeros."""
    code, position = frame.f_code.co_code, frame.f_lasti + 2
    while position < len(code) - 2 and code[position] == opmap["CACHE"]:
        position += 2
    return code[position]
