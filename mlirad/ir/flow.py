"""How values pass through structured ops, and what decides which of their blocks run: said here
once for each op, and asked by everyone else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

import msgspec

from mlirad.ir.ops import Scf

Edge = tuple[int, list[int]]


class Carried(NamedTuple):
    """What an iteration of a loop hands to the next: in the first it is `initial`, in each
    `argument`, in the one behind `following`. The last is the loop's `result`, where it has one for
    it."""

    initial: int
    argument: int
    following: int
    result: int | None


class Passed(NamedTuple):
    """What the condition's block of a loop `given` the block behind it as an `argument`, or the
    loop's users as a `result`."""

    given: int
    argument: int
    result: int


class Chosen(NamedTuple):
    """A result that is one of what the blocks of a branch give."""

    given: tuple[int, ...]
    result: int


class Flow(msgspec.Struct, frozen=True, dict=True):
    """`control` decides which blocks run, and how often: a condition, or bounds."""

    control: Sequence[int] = ()
    carried: Sequence[Carried] = ()
    passed: Sequence[Passed] = ()
    chosen: Sequence[Chosen] = ()

    @cached_property
    def edges(self) -> list[Edge]:
        """Each value that passes, with those that it may become."""
        return [
            *((one.initial, _known(one.argument, one.result)) for one in self.carried),
            # A result is also the argument of the iteration that does not run.
            *((one.argument, [one.result]) for one in self.carried if one.result is not None),
            *((one.following, _known(one.argument, one.result)) for one in self.carried),
            *((one.given, [one.argument, one.result]) for one in self.passed),
            *((given, [one.result]) for one in self.chosen for given in one.given),
        ]

    @cached_property
    def sources(self) -> dict[int, tuple[int, ...]]:
        """What each argument, and each result, may be made of."""
        found: dict[int, tuple[int, ...]] = {one.result: one.given for one in self.chosen}
        for carried in self.carried:
            for value in _known(carried.argument, carried.result):
                found[value] = carried.initial, carried.following
        for passed in self.passed:
            found[passed.argument] = found[passed.result] = (passed.given,)
        return found

    @cached_property
    def arguments(self) -> frozenset[int]:
        """The arguments of carried values."""
        return frozenset(one.argument for one in self.carried)


def _known(*values: int | None) -> list[int]:
    return [value for value in values if value is not None]


class Block(NamedTuple):
    """A block's arguments, and the operands of its terminator."""

    arguments: Sequence[int]
    end: Sequence[int]


def _for(operands: Sequence[int], blocks: Sequence[Block], results: Sequence[int]) -> Flow:
    body = blocks[0]
    carried = map(Carried, operands[3:], body.arguments[1:], body.end, results)
    return Flow(control=operands[:3], carried=tuple(carried))


def _while(operands: Sequence[int], blocks: Sequence[Block], results: Sequence[int]) -> Flow:
    before, after = blocks
    none = (None,) * len(operands)
    return Flow(
        control=before.end[:1],
        carried=tuple(map(Carried, operands, before.arguments, after.end, none)),
        passed=tuple(map(Passed, before.end[1:], after.arguments, results)),
    )


def _if(operands: Sequence[int], blocks: Sequence[Block], results: Sequence[int]) -> Flow:
    ends = [block.end for block in blocks]
    return Flow(control=operands[:1], chosen=tuple(map(Chosen, zip(*ends), results)))


def _parallel(operands: Sequence[int], blocks: Sequence[Block], results: Sequence[int]) -> Flow:
    return Flow(control=operands)


_FLOWS: dict[str, Callable[[Sequence[int], Sequence[Block], Sequence[int]], Flow]] = {
    Scf.FOR: _for,
    Scf.WHILE: _while,
    Scf.IF: _if,
    Scf.PARALLEL: _parallel,
}
NO_FLOW = Flow()


def flow_of(
    name: str, operands: Sequence[int], blocks: Sequence[Block], results: Sequence[int]
) -> Flow:
    """The flow through an op."""
    made = _FLOWS.get(name)
    return NO_FLOW if made is None else made(operands, blocks, results)
