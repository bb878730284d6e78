"""Panels of texts and controls on a window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from mlirad.checks import flag, number, numbers
from mlirad.checks import text as one_text
from mlirad.drawing.picture import Picture
from mlirad.gui.display import Display
from mlirad.gui.events import LMB

_LINE, _SIZE = 20, 13  # pixels
_FAR = 1e4  # windows
_INK, _BACK = np.array([230, 230, 230], np.uint8), np.array([40, 44, 52], np.uint8)


class Gui:
    """A panel of controls. Call a control in every frame; it returns its value."""

    def __init__(self, picture: Picture, display: Display) -> None:
        self._picture, self._display = picture, display
        self._at, self._wide = (0.0, 0.0), 0.3
        self._was_held = False

    @contextmanager
    def sub_window(
        self, name: str, x: float, y: float, width: float, height: float
    ) -> Iterator[Gui]:
        """Open a panel in a `with` block. Its upper left corner and its size are fractions of the
        window, from the top."""
        self.begin(name, x, y, width, height)
        yield self
        self.end()

    def begin(self, name: str, x: float, y: float, width: float, height: float) -> None:
        """Begin a panel."""
        x, y, width, height = (
            number(length, subject, low=-_FAR, high=_FAR)
            for length, subject in ((x, "x"), (y, "y"), (width, "width"), (height, "height"))
        )
        across, down = self._picture.size
        top, left = int(max(y, 0) * down), int(max(x, 0) * across)
        bottom, right = int(max(y + height, 0) * down), int(max(x + width, 0) * across)
        self._picture.pixels[top:bottom, left:right, :3] = _BACK
        self._at, self._wide = (x, y), width
        self._line(name)

    def end(self) -> None:
        """End a panel."""

    def _line(self, text: str) -> tuple[bool, float]:
        """Write a line; whether the mouse is pressed on it, and where, from 0 to 1."""
        x, y = self._at
        height = _LINE / self._picture.size[1]
        self._picture.text(one_text(text, "text"), np.array([x + 0.01, 1 - y]), _SIZE, _INK)
        self._at = x, y + height
        across, up = self._display.cursor
        on_it = x <= across <= x + self._wide and y <= 1 - up < y + height
        return on_it and LMB in self._display.pressed, (across - x) / (self._wide or 1)

    def text(self, text: str, color: Sequence[float] | None = None) -> None:
        """Draw a text."""
        self._line(text)

    def checkbox(self, text: str, old_value: bool) -> bool:
        """Draw a checkbox and return its value."""
        old_value = flag(old_value, "old_value")
        return old_value != self.button(f"[{'x' if old_value else ' '}] {text}")

    def slider_int(self, text: str, old_value: int, minimum: int, maximum: int) -> int:
        """Draw a slider for an integer and return its value."""
        return round(self.slider_float(text, old_value, minimum, maximum))

    def slider_float(self, text: str, old_value: float, minimum: float, maximum: float) -> float:
        """Draw a slider for a float and return its value."""
        old_value = number(old_value, "old_value")
        minimum, maximum = number(minimum, "minimum"), number(maximum, "maximum")
        is_pressed, where = self._line(f"{text}: {old_value:.4g}")
        return minimum + min(max(where, 0), 1) * (maximum - minimum) if is_pressed else old_value

    def color_edit_3(self, text: str, old_value: Sequence[float]) -> tuple[float, ...]:
        """Draw sliders for the components of a color and return the color."""
        names = ("red", "green", "blue")
        return tuple(
            self.slider_float(f"{text}, {name}", component, 0, 1)
            for name, component in zip(names, numbers(old_value, 3, "old_value"))
        )

    def button(self, text: str) -> bool:
        """Draw a button and return whether it was pressed in this frame."""
        is_pressed, _ = self._line(text)
        return is_pressed and not self._was_held

    def next_frame(self) -> None:
        """Record which keys are held, so that one press counts once."""
        self._was_held = LMB in self._display.pressed
