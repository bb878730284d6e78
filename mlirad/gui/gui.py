"""A window with a picture that programs draw frame by frame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from os import PathLike
from time import perf_counter, sleep
from typing import Any

import numpy as np

from mlirad.checks import file_name, flag, number, several
from mlirad.checks import text as one_text
from mlirad.drawing.colour_maps import map_colours, normalize_range
from mlirad.drawing.colours import colours_of_integers
from mlirad.drawing.images import as_rgb, from_rows, image_bytes, rows_from_top
from mlirad.drawing.numbers import as_array
from mlirad.drawing.picture import Picture
from mlirad.drawing.writing import write_rows
from mlirad.gui import events as ev
from mlirad.gui.choice import open_display
from mlirad.gui.display import FRAMES
from mlirad.gui.shapes import Shapes
from mlirad.gui.widgets import Widgets, WidgetValue


class Keys:
    """Names of keys and of events."""

    SHIFT, ALT, CTRL = ev.SHIFT, ev.ALT, ev.CTRL
    ESCAPE, RETURN, TAB, BACKSPACE, SPACE = ev.ESCAPE, ev.RETURN, ev.TAB, ev.BACKSPACE, ev.SPACE
    UP, DOWN, LEFT, RIGHT, CAPSLOCK = ev.UP, ev.DOWN, ev.LEFT, ev.RIGHT, ev.CAPSLOCK
    LMB, MMB, RMB = ev.LMB, ev.MMB, ev.RMB
    EXIT, WHEEL, MOVE = ev.EXIT, ev.WHEEL, ev.MOVE
    MOTION, PRESS, RELEASE = ev.MOTION, ev.PRESS, ev.RELEASE
    Event = ev.Event


class GUI(Shapes, Keys):
    """A window whose picture is redrawn for each frame.

    Without a display nothing is shown, `running` stays true, and `show(file)` writes pictures.
    `MLIRAD_FRAMES=n` in the environment ends the program after n frames.
    """

    def __init__(
        self,
        name: str = "Taichi",
        res: int | Sequence[int] = 512,
        background_color: int = 0x0,
        show_gui: bool = True,
        fullscreen: bool = False,
        fast_gui: bool = False,
    ) -> None:
        across, up = [res, res] if np.isscalar(res) else several(res, 2, "res")
        size = int(number(across, "res", low=1)), int(number(up, "res", low=1))
        self.name, self.res = one_text(name, "name"), size
        self.background_color = background_color
        self.fast_gui, self.frame = flag(fast_gui, "fast_gui"), 0
        self.event: ev.Event | None = None
        self.fps_limit: float | None = 60
        self.picture = Picture(self.res)
        is_shown, is_full = flag(show_gui, "show_gui"), flag(fullscreen, "fullscreen")
        self._display = open_display(name, self.res, is_shown, is_full)
        self._widgets = Widgets(self.picture, self._display)
        self._next_frame = 0.0
        self._running = True
        self.clear()

    def __enter__(self) -> GUI:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the window."""
        self._running = False
        self._display.close()

    # Images.

    def clear(self, color: int | None = None) -> None:
        """Set all pixels to a color, by default the background color."""
        chosen = self.background_color if color is None else color
        self.picture.fill(colours_of_integers(chosen, 1)[0])

    def set_image(self, img: object) -> None:
        """Draw an image `[x, y]`, gray or with up to four channels: floats from 0 to 1, or unsigned
        integers. Raises ValueError if its size differs from that of the window."""
        image = as_rgb(image_bytes(img))
        if image.shape[:2] != self.res:
            raise ValueError(
                f"an image of {image.shape[0]} by {image.shape[1]} is set in a window of "
                f"{self.res[0]} by {self.res[1]}"
            )
        self.picture.pixels[..., :3] = rows_from_top(image)

    def get_image(self) -> Any:
        """Return the picture as an array `[x, y, channel]` of f32 from 0 to 1, with four
        channels."""
        return from_rows(self.picture.pixels).astype(np.float32) / np.float32(255)

    def contour(self, scalar_field: object, normalize: bool = False) -> None:
        """Draw a field of numbers `[x, y]` with a color map, over the whole window. Raises
        ValueError if the field is not a grid."""
        values = as_array(scalar_field, "scalar_field")
        if values.ndim != 2:
            raise ValueError(f"scalar_field must be a grid, not of shape {values.shape}")
        if not values.size:
            raise ValueError(f"scalar_field has numbers: one of shape {values.shape} has none")
        if flag(normalize, "normalize"):
            values = normalize_range(values)
        rows, columns = (np.arange(n) * m // n for n, m in zip(self.res, values.shape))
        self.picture.pixels[..., :3] = rows_from_top(map_colours(values[np.ix_(rows, columns)]))

    def show(self, file: str | PathLike[str] | None = None) -> None:
        """Show the picture, or write it to a file, and begin the next.

        Raises:
            OSError: the file cannot be written.
            ValueError: the suffix of the file is unknown.
        """
        name = None if file is None or (isinstance(file, str) and not file) else file_name(file)
        self._widgets.draw()
        if name is not None:
            write_rows(self.picture.rows(), name)
        self._display.show(self.picture.rows())
        self._widgets.hear()
        self._wait()
        self.frame += 1
        self.clear()
        FRAMES.count()

    def _wait(self) -> None:
        """Hold the limit of frames a second, where somebody looks."""
        now = perf_counter()
        limit = 0.0 if self.fps_limit is None else number(self.fps_limit, "fps_limit", low=0)
        if limit and self._display.is_shown:
            sleep(max(0.0, self._next_frame - now))
            self._next_frame = max(now, self._next_frame) + 1 / limit

    # Widgets.

    def slider(self, text: str, minimum: float, maximum: float, step: float = 1) -> WidgetValue:
        """Add a slider and return its value."""
        return self._widgets.slider(
            text, number(minimum, "minimum"), number(maximum, "maximum"), number(step, "step")
        )

    def label(self, text: str) -> WidgetValue:
        """Add a number to the panel and return its value."""
        return self._widgets.label(text)

    def button(self, text: str, event_name: str | None = None) -> str:
        """Add a button and return the name of the event that it sends."""
        default = f"WidgetButton_{text}"
        name = default if event_name is None else one_text(event_name, "event_name") or default
        self._widgets.button(text, name)
        return name

    # Events.

    def get_event(self, *e_filter: object) -> bool:
        """Return whether an event of some types or keys has occurred, and store it in `event`."""
        for event in self.get_events(*e_filter):
            self.event = event
            return True
        return False

    def get_events(self, *e_filter: object) -> Iterator[ev.Event]:
        """Yield the events of some types or keys since the last call."""
        self._display.look()
        while self._display.events:
            event = self._display.events.popleft()
            if ev.matches(event, e_filter):
                yield event

    def has_key_event(self) -> bool:
        """Return whether an event is waiting."""
        self._display.look()
        return bool(self._display.events)

    def get_key_event(self) -> ev.Event | None:
        """Wait for the next event and return it; None if no window is shown."""
        while self._display.is_shown and not self.has_key_event():
            sleep(0.01)
        return self._display.events.popleft() if self._display.events else None

    def is_pressed(self, *keys: str) -> bool:
        """Return whether one of the keys or buttons is held."""
        return any(ev.is_held(self._display.pressed, key) for key in keys)

    def get_cursor_pos(self) -> tuple[float, float]:
        """Return the position of the mouse, as fractions of the window from the lower left
        corner."""
        return self._display.cursor

    @property
    def waits(self) -> bool:
        """Return whether a window is open that a user may close."""
        return self._display.can_be_closed

    @property
    def running(self) -> bool:
        """Return whether the window is still open."""
        return self._running and not self._display.asked_to_close

    @running.setter
    def running(self, value: bool) -> None:
        self._running = flag(value, "running")
        if self._running:
            self._display.asked_to_close = False
