"""Pictures in the output of a notebook's cell."""

from __future__ import annotations

import io
import sys
from time import monotonic
from typing import Any

from PIL import Image

from mlirad.drawing.colours import Bytes
from mlirad.gui.display import Display

_BETWEEN = 0.1  # seconds


def is_notebook() -> bool:
    """Return whether the program is a notebook's cell."""
    shell = sys.modules.get("IPython")
    current = None if shell is None else shell.get_ipython()
    return current is not None and hasattr(current, "kernel")


class NotebookDisplay(Display):
    """A picture in the output, which changes, ten times a second at most."""

    can_be_closed = False

    def __init__(self) -> None:
        super().__init__()
        self._handle: Any = None
        self._shown = -_BETWEEN
        self._last: Bytes | None = None

    def show(self, rows: Bytes) -> None:
        """Change the picture, if the last change was a while ago."""
        self._last = rows.copy()
        if monotonic() - self._shown >= _BETWEEN:
            self._put(self._last)

    def close(self) -> None:
        """Show the last picture."""
        if self._last is not None:
            self._put(self._last)

    def look(self) -> None:
        """Do nothing: nobody can touch the picture."""

    def _put(self, rows: Bytes) -> None:
        display = sys.modules["IPython"].display
        buffer = io.BytesIO()
        Image.fromarray(rows).save(buffer, format="PNG")
        picture = display.Image(data=buffer.getvalue(), format="png")
        if self._handle is None:
            self._handle = display.display(picture, display_id=True)
        else:
            self._handle.update(picture)
        self._shown, self._last = monotonic(), None
