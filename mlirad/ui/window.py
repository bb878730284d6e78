"""A window with a canvas, a scene and panels."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from time import perf_counter, sleep

import numpy as np

from mlirad.checks import flag, number, numbers, text
from mlirad.drawing.images import from_rows
from mlirad.drawing.numbers import Numbers
from mlirad.drawing.picture import Picture
from mlirad.drawing.writing import write_rows
from mlirad.gui.choice import open_display
from mlirad.gui.display import FRAMES
from mlirad.gui.events import Event, is_held, matches
from mlirad.ui.canvas import Canvas
from mlirad.ui.panels import Gui
from mlirad.ui.scene import Scene


class Window:
    """A window of a size in pixels. Without a display, or with `show_window=False`, nothing is
    shown, but pictures can be saved."""

    def __init__(
        self,
        name: str,
        res: Sequence[int],
        vsync: bool = False,
        show_window: bool = True,
        fps_limit: float = 1000,
        pos: Sequence[int] = (100, 100),
    ) -> None:
        self.name, self.event = text(name, "name"), Event("", "")
        self.fps_limit = number(fps_limit, "fps_limit", low=0)
        across, up = (int(side) for side in numbers(res, 2, "res"))
        self._picture = Picture((across, up))
        self._display = open_display(name, (across, up), flag(show_window, "show_window"))
        self._canvas, self._scene = Canvas(self._picture), Scene()
        self.GUI = Gui(self._picture, self._display)
        self._running, self._next_frame = True, 0.0

    @property
    def running(self) -> bool:
        """Return whether the window is still open."""
        return self._running and not self._display.asked_to_close

    @running.setter
    def running(self, value: bool) -> None:
        self._running = flag(value, "running")

    def get_canvas(self) -> Canvas:
        """Return the canvas of the window."""
        return self._canvas

    def get_scene(self) -> Scene:
        """Return a scene that the canvas can draw."""
        return self._scene

    def get_gui(self) -> Gui:
        """Return the panels of the window."""
        return self.GUI

    def get_window_shape(self) -> tuple[int, int]:
        """Return the width and the height in pixels."""
        return self._picture.size

    def show(self) -> None:
        """Show the picture and begin the next."""
        self._display.show(self._picture.rows())
        self.GUI.next_frame()
        now = perf_counter()
        if self.fps_limit and self._display.is_shown:
            sleep(max(0.0, self._next_frame - now))
            self._next_frame = max(now, self._next_frame) + 1 / self.fps_limit
        self._picture.fill(self._canvas.background)
        FRAMES.count()

    def save_image(self, filename: str | PathLike[str]) -> None:
        """Write the picture to a file. Raises OSError if it cannot be written."""
        write_rows(self._picture.rows(), filename)

    def get_image_buffer_as_numpy(self) -> Numbers:
        """Return the picture `[x, y, channel]`, f32 from 0 to 1 with four channels, from the upper
        left corner."""
        turned = from_rows(self._picture.pixels)[:, ::-1]
        return turned.astype(np.float32) / np.float32(255)

    def get_events(self, tag: str | None = None) -> list[Event]:
        """Return the events of a type since the last call."""
        self._display.look()
        events = [event for event in self._display.events if matches(event, (tag,) if tag else ())]
        self._display.events.clear()
        return events

    def get_event(self, tag: str | None = None) -> bool:
        """Return whether an event of a type has occurred, and store it in `event`."""
        self._display.look()
        while self._display.events:
            event = self._display.events.popleft()
            if matches(event, (tag,) if tag else ()):
                self.event = event
                return True
        return False

    def is_pressed(self, *keys: str) -> bool:
        """Return whether one of the keys or buttons is held."""
        return any(is_held(self._display.pressed, key) for key in keys)

    def get_cursor_pos(self) -> tuple[float, float]:
        """Return the position of the mouse, as fractions of the window from the lower left
        corner."""
        return self._display.cursor

    def destroy(self) -> None:
        """Close the window."""
        self._running = False
        self._display.close()
