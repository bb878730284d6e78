"""Slices of the tests, for runs that follow one another: N runs with consecutive numbers and slices
K/N run everything.

A test is in a slice by its name alone, so that tests that are added or removed between two runs
move no other. What is sliced: on another machine than the CPU every test, and on the CPU with
`--all-sliced`; otherwise the `slow` tests and the numbers of `rotating` tests, random programs of
which no run needs all.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass

import pytest


@dataclass(frozen=True)
class Slice:
    """One of `count`; any number will do, a commit's for example."""

    number: int
    count: int

    def has(self, name: str) -> bool:
        """Return whether a test is in it."""
        return zlib.crc32(name.encode()) % self.count == self.number % self.count


WHOLE = Slice(0, 1)


def slice_of(text: str) -> Slice:
    """Return the slice that an option names, `K/N`. Raises ValueError for what is none."""
    written = re.fullmatch(r"(\d+)/([1-9]\d*)", text)
    if written is None:
        raise ValueError(f"--slice={text}: expected two numbers, as in 3/4")
    return Slice(int(written[1]), int(written[2]))


def leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests that are in other slices."""
    chosen: Slice = config.getoption("--slice")
    every = config.getoption("--arch") is not None or config.getoption("--all-sliced")
    always = {item for item in items if _is_always_in(item, every)}
    outside = [item for item in items if item not in always and not chosen.has(item.nodeid)]
    if outside:
        config.hook.pytest_deselected(items=outside)
        dropped = {*outside}
        items[:] = [item for item in items if item not in dropped]


def _is_always_in(item: pytest.Item, every: bool) -> bool:
    return not every and not any(item.get_closest_marker(kind) for kind in ("rotating", "slow"))
