"""Arrays that a kernel uses without having them as arguments: attributes of objects, names from
outside. They are found anew at each launch."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from types import CellType
from typing import Any

import msgspec


class Capture(msgspec.Struct, frozen=True):
    """The place of a value: an attribute of `home`, which `owner` looks up again, a name that a
    cell or a dictionary holds, or (without an attribute) `home` itself."""

    name: str
    home: Any
    attribute: str = ""
    owner: Capture | None = None

    def now(self) -> Any:
        """The value at present; None if there is none."""
        home = self.present_home
        if not self.attribute:
            return home
        try:
            if isinstance(home, CellType):
                return home.cell_contents
            return home[self.attribute] if type(home) is dict else getattr(home, self.attribute)
        except (AttributeError, KeyError, ValueError):
            return None

    @property
    def present_home(self) -> Any:
        """The object that holds the value at present."""
        return self.home if self.owner is None else self.owner.now()

    @property
    def key(self) -> Hashable:
        """A key that is equal for captures of the same place, whatever it holds at present."""
        return id(self.home) if self.owner is None else self.owner.key, self.attribute


class Reads:
    """The attributes and names that a kernel under construction has read, by their values."""

    def __init__(self) -> None:
        self._homes: dict[int, list[tuple[Any, str, Any]]] = {}

    def note(self, home: Any, name: str, value: object) -> None:
        """Note that a name, or an attribute, of `home` has a value."""
        places = self._homes.setdefault(id(value), [])
        if not any(home is other and name == attribute for other, attribute, _ in places):
            places.append((home, name, value))

    def captures(self, value: object, visiting: frozenset[int] = frozenset()) -> list[Capture]:
        """Return where a value was found, in the order of the program; none for a value that was
        not read from anywhere."""
        places = [] if id(value) in visiting else self._homes.get(id(value), [])
        return [self._capture(home, name, visiting | {id(value)}) for home, name, _ in places]

    def captures_of(self, home: object, name: str) -> list[Capture]:
        """Return where an attribute of an object was found."""
        owners = self.captures(home)
        return (
            [self._capture(home, name, frozenset())]
            if not owners
            else [Capture(f"{owner.name}.{name}", home, name, owner) for owner in owners]
        )

    def _capture(self, home: Any, name: str, visiting: frozenset[int]) -> Capture:
        if isinstance(home, CellType) or type(home) is dict:
            return Capture(name, home, name)
        owners = self.captures(home, visiting)
        if owners:
            return Capture(f"{owners[0].name}.{name}", home, name, owners[0])
        return Capture(f"{type(home).__name__}.{name}", home, name)


def chain(capture: Capture) -> Iterator[Capture]:
    """Yield what a value is found by, outermost first, and the value's own place."""
    if capture.owner is not None:
        yield from chain(capture.owner)
    yield capture
