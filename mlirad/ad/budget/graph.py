"""A recorded program as plain data: which launch reads and writes which units of memory.

A unit is a set of elements that launches touch together; no two units share an element. What a unit
holds from one write to the next is a content: the unit, and the launch that made it (-1: what was
there before anything was recorded).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

ROOT = -1

Content = tuple[int, int]  # a unit, and the launch that made it


class Step(msgspec.Struct, frozen=True):
    """A launch: what it does to units, and what its reverse needs of them.

    `reads`: what its results are made of. `writes`: what it changes; of `blends`, which are among
    these, perhaps not all, and to `adds` it adds: the content before is part of the one behind.
    `needs`: what its reverse reads as the launch left it; `before`: as the launch found it.
    """

    reads: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()
    blends: frozenset[int] = frozenset()
    adds: frozenset[int] = frozenset()
    needs: tuple[int, ...] = ()
    before: tuple[int, ...] = ()
    cost: float = 1.0
    is_repeatable: bool = True

    def keeps(self, unit: int) -> bool:
        """Return whether something of what a unit held is still in it afterwards."""
        return unit in self.blends or unit in self.adds

    def is_stable(self, unit: int) -> bool:
        """Return whether the launch leaves in a unit what it left there when it ran last."""
        return unit not in self.adds and unit not in self.reads


class Graph:
    """The units and the steps recorded so far."""

    def __init__(self) -> None:
        self.sizes: list[int] = []  # bytes, by unit
        self.steps: list[Step] = []
        self.writers: list[list[int]] = []  # by unit, in order
        self._users: list[list[int]] = []  # by unit, steps that have to do with it
        # the first launch, or reverse, that uses a content
        self.first_use: dict[Content, int] = {}
        self.last_use: dict[Content, int] = {}
        self.needed_by_reverse: set[Content] = set()
        # the launches that read a content
        self.readers: dict[Content, list[int]] = {}

    def unit(self, size: int) -> int:
        """A new unit, which nothing has used."""
        self.sizes.append(size)
        self.writers.append([])
        self._users.append([])
        return len(self.sizes) - 1

    def add(self, step: Step) -> int:
        """A new step, behind all others; its number."""
        number = len(self.steps)
        self.steps.append(step)
        for unit in {*step.reads, *step.writes, *step.needs, *step.before}:
            self._users[unit].append(number)
        read = [(unit, self.maker(unit, number)) for unit in step.reads]
        if step.is_repeatable:
            for content in read:
                self.first_use.setdefault(content, number)
                self.readers.setdefault(content, []).append(number)
                self.last_use[content] = number
        for unit in (*step.blends, *step.adds):
            before = unit, self.maker(unit, number)
            if before in self.last_use:
                self.last_use[before] = number
        for unit in step.writes:
            self.writers[unit].append(number)
        for content in self.needed_contents(number):
            self.first_use.setdefault(content, number)
            self.last_use[content] = number
            self.needed_by_reverse.add(content)
        return number

    def maker(self, unit: int, time: int) -> int:
        """Return the launch that made what a unit holds when a launch begins."""
        writers = self.writers[unit]
        if not writers or writers[-1] < time:
            return writers[-1] if writers else ROOT
        position = bisect_left(writers, time)
        return writers[position - 1] if position else ROOT

    def last(self, unit: int) -> int:
        """Return the launch that made what a unit holds at the end."""
        writers = self.writers[unit]
        return writers[-1] if writers else ROOT

    def needed_contents(self, number: int) -> list[Content]:
        """The contents that the reverse of a launch finds in memory."""
        step = self.steps[number]
        before = set(step.before)
        return [
            *((unit, self.maker(unit, number)) for unit in step.before),
            *((u, self.maker(u, number + 1)) for u in step.needs if u not in before),
        ]

    def is_at_hand(self) -> bool:
        """Return whether reverses find all that they need in memory as the program leaves it."""
        return all(
            maker == self.last(unit)
            for number in range(len(self.steps))
            for unit, maker in self.needed_contents(number)
        )

    def inputs(self, number: int, results: Iterable[int]) -> list[Content]:
        """Return what a launch finds in memory when it makes the contents of some units again."""
        step = self.steps[number]
        units = [*step.reads, *(u for u in results if step.keeps(u) and u not in step.reads)]
        return [(unit, self.maker(unit, number)) for unit in units]

    def is_source(self, content: Content) -> bool:
        """Return whether a content cannot be made again."""
        maker = content[1]
        return maker == ROOT or not self.steps[maker].is_repeatable

    def sources(self) -> list[Content]:
        """The contents that are overwritten, may be used, and cannot be made again."""
        contents = []
        for unit, writers in enumerate(self.writers):
            for maker, writer in zip((ROOT, *writers), writers):
                content = unit, maker
                if self.is_source(content) and self.is_wanted(content, writer):
                    contents.append(content)
        return contents

    def is_wanted(self, content: Content, writer: int) -> bool:
        """Return whether a content that a launch overwrites may be used again."""
        return content in self.first_use or self.steps[writer].keeps(content[0])

    def movable(self) -> list[Content]:
        """Return what the program leaves in units that hold something else on the way back."""
        first = {unit for unit, maker in self.sources() if maker == ROOT}
        return [
            (unit, writers[-1])
            for unit, writers in enumerate(self.writers)
            if len(writers) > 1 or unit in first
        ]

    def lent(self, number: int) -> list[Content]:
        """Return what the reverse of a launch needs of before the launch, and the launch overwrites
        if it has to run again for the same reverse."""
        step = self.steps[number]
        if not any(maker == number for _, maker in self.needed_contents(number)):
            return []
        units = [unit for unit in step.before if unit in step.writes]
        return [(unit, self.maker(unit, number)) for unit in units]

    def reserve(self) -> int:
        """The bytes that a sweep back may have to keep, besides what cannot be made again: for what
        the program leaves, and for one launch."""
        lent = [sum(self.bytes_of(self.lent(number))) for number in range(len(self.steps))]
        return sum(self.bytes_of(self.movable())) + max(lent, default=0)

    def bytes_of(self, contents: Iterable[Content]) -> list[int]:
        """Return the size of each content."""
        return [self.sizes[unit] for unit, _ in contents]

    def least(self) -> int:
        """The least bytes that do."""
        if self.is_at_hand():
            return 0
        return sum(self.bytes_of(self.sources())) + self.reserve()

    def split(self, unit: int, sizes: Sequence[int]) -> list[int]:
        """Take a unit apart: new units, which have its past; the old one is used no more."""
        pieces = [self.unit(size) for size in sizes]
        for number in self._users[unit]:
            self.steps[number] = _in_pieces(self.steps[number], unit, pieces)
        for piece in pieces:
            self.writers[piece] = list(self.writers[unit])
            self._users[piece] = list(self._users[unit])
        for content in [(unit, maker) for maker in (ROOT, *self.writers[unit])]:
            if content not in self.first_use:
                continue
            use, readers = self.first_use.pop(content), self.readers.pop(content, None)
            for piece in pieces:
                self.first_use[piece, content[1]] = use
                self.last_use[piece, content[1]] = self.last_use[content]
                if content in self.needed_by_reverse:
                    self.needed_by_reverse.add((piece, content[1]))
                if readers is not None:
                    self.readers[piece, content[1]] = list(readers)
        self.writers[unit], self._users[unit] = [], []
        return pieces


def _in_pieces(step: Step, unit: int, pieces: Sequence[int]) -> Step:
    def split_unit(units: Iterable[int]) -> tuple[int, ...]:
        return tuple([new for u in units for new in (pieces if u == unit else (u,))])

    return replace(
        step,
        reads=split_unit(step.reads),
        writes=split_unit(step.writes),
        blends=frozenset(split_unit(step.blends)),
        adds=frozenset(split_unit(step.adds)),
        needs=split_unit(step.needs),
        before=split_unit(step.before),
    )
