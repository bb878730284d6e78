"""Displays that show pictures."""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from collections import deque

from mlirad.drawing.colours import Bytes
from mlirad.gui.events import Event

_said: set[str] = set()


class Display(ABC):
    """Shows pictures, and knows what somebody does there."""

    is_shown = True
    can_be_closed = True

    def __init__(self) -> None:
        self.events: deque[Event] = deque()
        self.pressed: set[str] = set()
        self.cursor = (0.0, 0.0)
        self.asked_to_close = False

    @abstractmethod
    def show(self, rows: Bytes) -> None:
        """Show rows of three bytes a pixel, from the top, and take note of events."""

    @abstractmethod
    def close(self) -> None:
        """Show no more."""

    @abstractmethod
    def look(self) -> None:
        """Take note of events."""


class NoDisplay(Display):
    """Shows nothing: programs draw, save files and go on."""

    is_shown = can_be_closed = False

    def show(self, rows: Bytes) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""

    def look(self) -> None:
        """Do nothing."""


def say(line: str) -> None:
    """Tell the user on the standard error, once a process."""
    if line not in _said:
        _said.add(line)
        print(f"mlirad: {line}", file=sys.stderr)


class FrameLimit:
    """Ends a program behind its last frame, where `MLIRAD_FRAMES` says how many it shows: programs
    that run until somebody closes their window are tested so."""

    def __init__(self) -> None:
        limit = os.environ.get("MLIRAD_FRAMES", "")
        self._left = int(limit) if limit.isdigit() else 0

    def count(self) -> None:
        """Note a frame. Raises SystemExit behind the last one."""
        if self._left:
            self._left -= 1
            if not self._left:
                raise SystemExit(0)


FRAMES = FrameLimit()
