"""When to keep a snapshot of a time loop's state, and what to run again: binomial schedules,
without memory or kernels.

For a known number of steps: Griewank and Walther, Algorithm 799: revolve (ACM TOMS 26, 2000). For
an unknown one: Wang, Moin and Iaccarino, Minimal repetition dynamic checkpointing algorithm for
unsteady adjoint calculation (SIAM J. Sci. Comput. 31, 2009). A state is numbered by the steps that
led to it; state 0 is always kept.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from math import comb

import msgspec


def repetitions(steps: int, snapshots: int) -> int:
    """The least `r` for which `C(snapshots + r, snapshots)` is at least `steps`: how often a step
    is run again at most."""
    count = 0
    while comb(snapshots + count, snapshots) < steps:
        count += 1
    return count


def executions(steps: int, snapshots: int) -> int:
    """Count the steps that are run to reverse `steps` of them with so many states kept: the fewest
    possible.

    The first sweep counts, and so does the run of each step that its reverse follows.
    """
    r = repetitions(steps, snapshots)
    return steps + r * steps - comb(snapshots + r, snapshots + 1)


def split(steps: int, snapshots: int) -> int:
    """Behind how many of at least two steps the next snapshot belongs; the first of at least two is
    kept at their begin."""
    r = repetitions(steps, snapshots)
    return min(comb(snapshots + r - 1, snapshots), steps - comb(snapshots + r - 2, snapshots - 1))


def placements(steps: int, snapshots: int) -> list[int]:
    """The states that a first sweep over a known number of steps keeps."""
    return list(_climb([0], steps, snapshots)) if steps else []


def _climb(states: Sequence[int], end: int, snapshots: int) -> Iterator[int]:
    """The last state that is kept, and those to be kept between it and the step in front of
    `end`."""
    at, count = states[-1], len(states)
    yield at
    while end - at > 1 and count < snapshots:
        at += split(end - at, snapshots - count + 1)
        count += 1
        yield at


class Reversal(msgspec.Struct, frozen=True):
    """The way to one step that is reversed: begin at a kept state, keep others on the way, forget
    what is behind it."""

    begin: int
    keep: tuple[int, ...]
    step: int
    forget: tuple[int, ...]  # states that no later reversal needs


def reversals(states: Sequence[int], steps: int, snapshots: int) -> Iterator[Reversal]:
    """Reverse all steps, last first, from states that a sweep kept; never are more than `snapshots`
    kept at once.

    Of states that are kept, 0 is never forgotten.
    """
    present = [state for state in states if state < steps]
    for step in reversed(range(steps)):
        way = list(_climb(present, step + 1, snapshots))
        present += way[1:]
        forget = (present.pop(),) if step and present[-1] == step else ()
        yield Reversal(way[0], tuple(way[1:]), step, forget)


class Placement(ABC):
    """The choice of states that a first sweep keeps."""

    @abstractmethod
    def reach(self, state: int) -> list[int]:
        """The states to be kept from now on; `state` follows the one before, and is among them if
        it is to be kept."""


class PlannedPlacement(Placement):
    """The choice for a known number of steps."""

    def __init__(self, steps: int, snapshots: int) -> None:
        self.states = placements(steps, snapshots)

    def reach(self, state: int) -> list[int]:
        return self.states[: bisect_right(self.states, state)]


class OnlinePlacement(Placement):
    """The choice while the number of steps is not known.

    No step will be run again more often than with the best choice for the number that it turns out
    to be, but for the states that a sixteenth more steps would make dispensable: those are not kept
    at all, which saves nearly all copies.
    """

    AHEAD = 16

    def __init__(self, snapshots: int) -> None:
        self.levels = _Levels(snapshots)
        self.reached = 0
        self.kept: list[int] = []

    def reach(self, state: int) -> list[int]:
        while self.reached <= state + state // self.AHEAD:
            self.levels.reach(self.reached)
            self.reached += 1
        lasting = self.levels.kept
        self.kept = [old for old in (*self.kept, state) if old in lasting]
        return self.kept


class _Levels:
    """States kept by level: one in front of a state of a higher level is dispensable. The newest
    state is always kept."""

    def __init__(self, snapshots: int) -> None:
        self.snapshots = snapshots
        self.kept: list[int] = []
        self.levels: list[int] = []

    def reach(self, state: int) -> None:
        """Keep a state, in the place of another where all are taken."""
        level = 0
        if len(self.kept) == self.snapshots:
            position = self._dispensable()
            if position is None:
                position = len(self.kept) - 1
                level = self.levels[position] + 1
            if position == 0:
                return  # state 0 is all that there is room for
            del self.kept[position], self.levels[position]
        self.kept.append(state)
        self.levels.append(level)

    def _dispensable(self) -> int | None:
        """The position of the last state, but for state 0, in front of one of a higher level."""
        highest = -1
        for position in range(len(self.kept) - 1, 0, -1):
            if self.levels[position] < highest:
                return position
            highest = max(highest, self.levels[position])
        return None
