"""Paths of values through structured ops, and the values that decide which of their blocks run:
defined here once for each op, for all other code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

import msgspec

from mlirad.ir.ops import Scf

Edge = tuple[int, list[int]]


class CarriedValue(NamedTuple):
    """A value that an iteration of a loop passes to the next: in the first it is `initial`, in each
    `argument`, in the one after `following`. The last is the loop's `result`, where it has one for
    it."""

    initial: int
    argument: int
    following: int
    result: int | None

    @property
    def targets(self) -> list[int]:
        """Return the argument and, if the loop has one, the result."""
        return [self.argument] if self.result is None else [self.argument, self.result]


class PassedValue(NamedTuple):
    """A `value` that the condition's block of a loop passes to the block behind it, as an
    `argument`, and to the loop's users, as a `result`."""

    value: int
    argument: int
    result: int


class ChosenValue(NamedTuple):
    """A `result` of a branch, which is one of `values`, the first of them from its first block."""

    values: tuple[int, ...]
    result: int


class Flow(msgspec.Struct, frozen=True, dict=True):
    """`control` decides which blocks run, and how often: a condition, or bounds."""

    control: Sequence[int] = ()
    carried: Sequence[CarriedValue] = ()
    passed: Sequence[PassedValue] = ()
    chosen: Sequence[ChosenValue] = ()

    @cached_property
    def edges(self) -> list[Edge]:
        """Each value that passes, with those that it may become."""
        return [
            *((carried.initial, carried.targets) for carried in self.carried),
            # A result is also the argument of the iteration that does not run.
            *((carried.argument, carried.targets[1:]) for carried in self.carried),
            *((carried.following, carried.targets) for carried in self.carried),
            *((passed.value, [passed.argument, passed.result]) for passed in self.passed),
            *((value, [chosen.result]) for chosen in self.chosen for value in chosen.values),
        ]

    @cached_property
    def sources(self) -> dict[int, tuple[int, ...]]:
        """Return the possible sources of each argument and each result."""
        sources: dict[int, tuple[int, ...]] = {
            chosen.result: chosen.values for chosen in self.chosen
        }
        for carried in self.carried:
            for value in carried.targets:
                sources[value] = carried.initial, carried.following
        for passed in self.passed:
            sources[passed.argument] = sources[passed.result] = (passed.value,)
        return sources

    @cached_property
    def arguments(self) -> frozenset[int]:
        """The arguments of carried values."""
        return frozenset(carried.argument for carried in self.carried)


class Block(NamedTuple):
    """A block's arguments, and the operands of its terminator."""

    arguments: Sequence[int]
    end: Sequence[int]


def _for(operands: Sequence[int], blocks: Sequence[Block], results: Sequence[int]) -> Flow:
    body = blocks[0]
    carried = map(CarriedValue, operands[3:], body.arguments[1:], body.end, results)
    return Flow(control=operands[:3], carried=tuple(carried))


def _while(operands: Sequence[int], blocks: Sequence[Block], results: Sequence[int]) -> Flow:
    before, after = blocks
    none = (None,) * len(operands)
    return Flow(
        control=before.end[:1],
        carried=tuple(map(CarriedValue, operands, before.arguments, after.end, none)),
        passed=tuple(map(PassedValue, before.end[1:], after.arguments, results)),
    )


def _if(operands: Sequence[int], blocks: Sequence[Block], results: Sequence[int]) -> Flow:
    ends = [block.end for block in blocks]
    return Flow(control=operands[:1], chosen=tuple(map(ChosenValue, zip(*ends), results)))


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
    find_flow = _FLOWS.get(name)
    return NO_FLOW if find_flow is None else find_flow(operands, blocks, results)
