"""Limits of the options of passes, written into their signatures:
`threads: Annotated[int, Range(1, 1024)] = 1`."""

from __future__ import annotations

import re
from typing import Annotated

import msgspec


class Range(msgspec.Struct, frozen=True):
    """The integers from one to another, both included."""

    least: int
    most: int

    def admits(self, value: int) -> bool:
        """Return whether an option may have this value."""
        return self.least <= value <= self.most

    def __str__(self) -> str:
        return f"{self.least} to {self.most}"


class OneOf(msgspec.Struct, frozen=True):
    """One of some words."""

    words: tuple[str, ...]

    def admits(self, value: str) -> bool:
        """Return whether an option may have this value."""
        return value in self.words

    def __str__(self) -> str:
        return f"one of {', '.join(self.words)}"


class SomeOf(msgspec.Struct, frozen=True):
    """Some words, joined by `+`."""

    words: tuple[str, ...]

    def admits(self, value: str) -> bool:
        """Return whether an option may have this value."""
        return all(word in self.words for word in value.split("+"))

    def __str__(self) -> str:
        return f"some of {', '.join(self.words)}, joined by '+'"


class Letters(msgspec.Struct, frozen=True):
    """Letters, digits, points and hyphens, none or as many as `most`."""

    most: int

    def admits(self, value: str) -> bool:
        """Return whether an option may have this value."""
        return len(value) <= self.most and re.fullmatch(r"[\w.-]*", value) is not None

    def __str__(self) -> str:
        return f"at most {self.most} letters, digits, points and hyphens"


Limit = Range | OneOf | SomeOf | Letters
Threads = Annotated[int, Range(1, 1024)]
Worth = Annotated[int, Range(0, 10**15)]  # operations in a loop that pay for waking threads
