"""Events of a window: keys, buttons, and moves of the mouse."""

from __future__ import annotations

import msgspec

from mlirad.checks import text

PRESS, RELEASE, MOTION = "Press", "Release", "Motion"
SHIFT, ALT, CTRL = "Shift", "Alt", "Control"
ESCAPE, RETURN, TAB, BACKSPACE, SPACE = "Escape", "Return", "Tab", "BackSpace", " "
UP, DOWN, LEFT, RIGHT, CAPSLOCK = "Up", "Down", "Left", "Right", "Caps_Lock"
LMB, MMB, RMB = "LMB", "MMB", "RMB"
EXIT, WHEEL, MOVE = "WMClose", "Wheel", "Motion"
SIDES = (SHIFT, ALT, CTRL)  # keys that there are twice


class Event(msgspec.Struct):
    """A key or a button that was pressed or released, or a motion; `pos` is in parts of the
    window."""

    type: str
    key: str
    pos: tuple[float, float] = (0.0, 0.0)
    delta: tuple[float, float] = (0.0, 0.0)
    modifier: list[str] = msgspec.field(default_factory=list)


def is_held(pressed: set[str], key: str) -> bool:
    """Return whether a key is among those that are pressed, on either side."""
    either = {key, f"{key}_L", f"{key}_R"} if text(key, "a key") in SIDES else {key}
    return not pressed.isdisjoint(either)


def matches(event: Event, filters: tuple[object, ...]) -> bool:
    """Return whether an event has one of some types, keys, or pairs of both; where none is given,
    any."""
    either = [tuple(entry) if isinstance(entry, list) else entry for entry in filters]
    names = (event.type, event.key, (event.type, event.key))
    return not either or any(name in either for name in names)
