"""When to keep a snapshot of a time loop's state, and what to run again: binomial schedules,
without memory or kernels.

For a known number of steps: Griewank and Walther, Algorithm 799: revolve (ACM TOMS 26, 2000). For
an unknown one: Wang, Moin and Iaccarino, Minimal repetition dynamic checkpointing algorithm for
unsteady adjoint calculation (SIAM J. Sci. Comput. 31, 2009). A state is numbered by the steps that
led to it; state 0 is always kept.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
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
    def reach(self, state: int) -> Sequence[int] | None:
        """Return None if a state, which follows the one before, is not to be kept, else the states
        that are to be forgotten first."""


class PlannedPlacement(Placement):
    """The choice for a known number of steps."""

    def __init__(self, steps: int, snapshots: int) -> None:
        self.states = frozenset(placements(steps, snapshots))

    def reach(self, state: int) -> Sequence[int] | None:
        return () if state in self.states else None


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
        self.ahead: set[int] = set()  # states to be kept if they are reached
        self.kept: dict[int, None] = {}  # in order
        self._forgotten: list[int] = []  # since a state was kept

    def reach(self, state: int) -> Sequence[int] | None:
        while self.reached <= state + state // self.AHEAD:
            self.ahead.add(self.reached)
            self._forget(self.levels.reach(self.reached))
            self.reached += 1
        if state not in self.ahead:
            return None
        self.ahead.remove(state)
        self.kept[state] = None
        forgotten, self._forgotten = self._forgotten, []
        return forgotten

    def _forget(self, state: int | None) -> None:
        if state in self.kept:
            del self.kept[state]
            self._forgotten.append(state)
        elif state is not None:
            self.ahead.remove(state)


class _Levels:
    """States kept by level: one in front of a state of a higher level is dispensable. The newest
    state is always kept, unless there is room for state 0 only.

    Levels do not rise from state to state, but for one state, of level `highest`, behind those that
    are dispensable. The last of these is at `position`.
    """

    def __init__(self, snapshots: int) -> None:
        self.snapshots = snapshots
        self.kept: list[int] = []
        self.levels: list[int] = []
        self.position = self.highest = 0

    def reach(self, state: int) -> int | None:
        """Keep a state, in the place of another where all are taken, and return the one that is not
        kept."""
        if len(self.kept) < self.snapshots:
            self._add(state, 0)
            return None
        if self.position > 0 and self.levels[self.position] < self.highest:
            self.position -= 1
            return self._replace(self.position + 1, state, 0)
        last = len(self.kept) - 1
        if last == 0:
            return state  # state 0 is all that there is room for
        self.position, self.highest = last - 1, self.levels[last] + 1
        return self._replace(last, state, self.highest)

    def _replace(self, position: int, state: int, level: int) -> int:
        forgotten = self.kept[position]
        del self.kept[position], self.levels[position]
        self._add(state, level)
        return forgotten

    def _add(self, state: int, level: int) -> None:
        self.kept.append(state)
        self.levels.append(level)
