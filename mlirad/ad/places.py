"""Where in the user's program something happens."""
from __future__ import annotations

import sys


def caller() -> str:
    """The line of the user's program that runs now."""
    frame = sys._getframe(1)
    package = __file__.rsplit("/", 2)[0]
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
