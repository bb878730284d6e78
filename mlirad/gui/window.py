"""A window of the system, by pyglet."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyglet
from pyglet.window import key, mouse

from mlirad.drawing.colours import Bytes
from mlirad.gui import events as ev
from mlirad.gui.display import Display
from mlirad.gui.events import Event

_KEYS = {
    key.LSHIFT: "Shift_L",
    key.RSHIFT: "Shift_R",
    key.LALT: "Alt_L",
    key.RALT: "Alt_R",
    key.LCTRL: "Control_L",
    key.RCTRL: "Control_R",
    key.ESCAPE: ev.ESCAPE,
    key.RETURN: ev.RETURN,
    key.TAB: ev.TAB,
    key.BACKSPACE: ev.BACKSPACE,
    key.SPACE: ev.SPACE,
    key.UP: ev.UP,
    key.DOWN: ev.DOWN,
    key.LEFT: ev.LEFT,
    key.RIGHT: ev.RIGHT,
    key.CAPSLOCK: ev.CAPSLOCK,
}
_BUTTONS = {mouse.LEFT: ev.LMB, mouse.MIDDLE: ev.MMB, mouse.RIGHT: ev.RMB}


def _name(symbol: int) -> str:
    if symbol in _KEYS:
        return _KEYS[symbol]
    return chr(symbol) if 32 < symbol < 127 else str(key.symbol_string(symbol)).capitalize()


class WindowDisplay(Display):
    """A window that is as large as the picture."""

    def __init__(self, title: str, size: tuple[int, int], fullscreen: bool) -> None:
        super().__init__()
        self._size = size
        size_options: dict[str, Any] = {} if fullscreen else {"width": size[0], "height": size[1]}
        self._window = pyglet.window.Window(
            caption=title, fullscreen=fullscreen, vsync=False, **size_options
        )
        self._window.push_handlers(
            on_close=self._close_asked,
            on_key_press=lambda symbol, _: self._key(ev.PRESS, _name(symbol)),
            on_key_release=lambda symbol, _: self._key(ev.RELEASE, _name(symbol)),
            on_mouse_press=lambda x, y, button, _: self._mouse(ev.PRESS, x, y, button),
            on_mouse_release=lambda x, y, button, _: self._mouse(ev.RELEASE, x, y, button),
            on_mouse_motion=lambda x, y, *_: self._on_motion(x, y),
            on_mouse_drag=lambda x, y, *_: self._on_motion(x, y),
            on_mouse_scroll=self._on_scroll,
        )

    def show(self, rows: Bytes) -> None:
        """Put the picture into the window."""
        self.look()
        if self._window.context is None:
            return
        height, width = rows.shape[:2]
        data = np.ascontiguousarray(rows).tobytes()
        self._window.switch_to()
        self._window.clear()
        picture = pyglet.image.ImageData(width, height, "RGB", data, pitch=-3 * width)
        picture.blit(0, 0, width=self._window.width, height=self._window.height)
        self._window.flip()

    def look(self) -> None:
        """Take note of events."""
        if self._window.context is not None:
            self._window.switch_to()
            self._window.dispatch_events()

    def close(self) -> None:
        """Take the window away."""
        if self._window.context is not None:
            self._window.close()

    def _close_asked(self) -> bool:
        self.asked_to_close = True
        self._note(ev.PRESS, ev.EXIT)
        return bool(pyglet.event.EVENT_HANDLED)  # the program closes it

    def _note(self, kind: str, name: str, delta: tuple[float, float] = (0.0, 0.0)) -> None:
        modifiers = [side for side in ev.SIDES if ev.is_held(self.pressed, side)]
        self.events.append(Event(kind, name, self.cursor, delta, modifiers))

    def _key(self, kind: str, name: str) -> bool:
        change = self.pressed.add if kind == ev.PRESS else self.pressed.discard
        change(name)
        self._note(kind, name)
        return bool(pyglet.event.EVENT_HANDLED)  # escape closes no window by itself

    def _mouse(self, kind: str, x: float, y: float, button: int) -> None:
        self._place(x, y)
        self._key(kind, _BUTTONS.get(button, f"mouse {button}"))

    def _on_motion(self, x: float, y: float) -> None:
        self._place(x, y)
        self._note(ev.MOTION, ev.MOVE)

    def _on_scroll(self, x: float, y: float, right: float, up: float) -> None:
        self._place(x, y)
        self._note(ev.MOTION, ev.WHEEL, (120 * right, 120 * up))

    def _place(self, x: float, y: float) -> None:
        self.cursor = x / self._window.width, y / self._window.height
