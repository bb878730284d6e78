"""The choice of the display of a window."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec

from mlirad.gui.display import Display, NoDisplay, say
from mlirad.gui.notebook import NotebookDisplay, is_notebook


def open_display(
    title: str, size: tuple[int, int], is_shown: bool = True, fullscreen: bool = False
) -> Display:
    """A window, or the output of a notebook's cell; where there is neither, or none is wanted,
    nothing is shown. Never raises: says in one line why a window that is wanted is missing."""
    if not is_shown:
        return NoDisplay()
    if is_notebook():
        return NotebookDisplay()
    reason = _reason()
    if not reason:
        try:
            # pyglet looks for a display when it is loaded
            from mlirad.gui.window import WindowDisplay

            return WindowDisplay(title, size, fullscreen)
        except Exception as error:  # of any system's windows, by many classes
            reason = f"{type(error).__name__}: {error}"
    way = "show('file.png') and save_image('file.png') write pictures"
    say(f"no window is shown ({reason}); {way}")
    return NoDisplay()


def _reason() -> str:
    """Why no window can be opened."""
    if sys.platform.startswith("linux") and not os.environ.get("DISPLAY"):
        return "there is no display: DISPLAY is not set"
    if find_spec("pyglet") is None:
        return "pyglet is not installed: pip install 'mlirad[window]'"
    return ""
