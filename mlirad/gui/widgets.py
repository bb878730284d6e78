"""Sliders, labels and buttons, in the upper left corner of a window."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mlirad.checks import number
from mlirad.drawing.picture import Picture
from mlirad.gui import events as ev
from mlirad.gui.display import Display

_LINE, _WIDTH, _SIZE = 22, 160, 13  # pixels
_INK = np.array([230, 230, 230], np.uint8)
_BAR = np.array([90, 110, 140], np.uint8)


class WidgetValue:
    """The value of a slider or a label, which programs read and write: a finite number."""

    def __init__(self, value: float) -> None:
        self.value = value

    @property
    def value(self) -> float:
        """The number. Raises TaichiTypeError if another thing is set, ValueError for NaN and
        infinity."""
        return self._value

    @value.setter
    def value(self, value: float) -> None:
        self._value = number(value, "the value of a widget")


class Widgets:
    """Lines of text, some of which hear the mouse."""

    def __init__(self, picture: Picture, display: Display) -> None:
        self._picture, self._display = picture, display
        self._lines: list[Callable[[], tuple[str, float]]] = []  # text, and how full its bar is
        self._hears: list[Callable[[float, bool], None]] = []  # where, and whether anew
        self._held: int | None = None

    def slider(self, text: str, minimum: float, maximum: float, step: float) -> WidgetValue:
        """A number that the mouse moves."""
        value = WidgetValue(minimum)
        span = maximum - minimum

        def line() -> tuple[str, float]:
            return f"{text}: {value.value:g}", (value.value - minimum) / span if span else 0

        def hear(where: float, _: bool) -> None:
            steps = round(min(max(where, 0), 1) * span / step) if step else 0
            value.value = min(minimum + steps * step, maximum) if step else minimum + where * span

        self._add(line, hear)
        return value

    def label(self, text: str) -> WidgetValue:
        """A number that is shown."""
        value = WidgetValue(0.0)
        self._add(lambda: (f"{text}: {value.value:g}", 0), lambda where, anew: None)
        return value

    def button(self, text: str, event_name: str) -> None:
        """A text that sends an event when it is pressed."""

        def hear(_: float, anew: bool) -> None:
            if anew:
                event = ev.Event(ev.PRESS, event_name, self._display.cursor)
                self._display.events.append(event)

        self._add(lambda: (f"[ {text} ]", 0), hear)

    def _add(
        self, line: Callable[[], tuple[str, float]], hear: Callable[[float, bool], None]
    ) -> None:
        self._lines.append(line)
        self._hears.append(hear)

    def draw(self) -> None:
        """Draw all."""
        for place, line in enumerate(self._lines):
            text, full = line()
            top = 6 + place * _LINE
            end = 6 + int(_WIDTH * min(max(full, 0.0), 1.0))
            self._picture.pixels[top : top + _LINE - 4, 6:end, :3] = _BAR
            height = self._picture.size[1]
            at = np.array([10 / self._picture.size[0], 1 - top / height])
            self._picture.text(text, at, _SIZE, _INK)

    def hear(self) -> None:
        """Move and press what the mouse is on."""
        if ev.LMB not in self._display.pressed:
            self._held = None
            return
        x, y = self._display.cursor
        across = (x * self._picture.size[0] - 6) / _WIDTH
        at = int(((1 - y) * self._picture.size[1] - 6) // _LINE)
        anew = self._held is None
        if anew:
            on_one = 0 <= at < len(self._hears) and 0 <= across <= 1
            self._held = at if on_one else -1
        if self._held is not None and self._held >= 0:
            self._hears[self._held](across, anew)
